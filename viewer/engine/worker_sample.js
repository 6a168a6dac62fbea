/**
 * A made-up snapshot on which the engine is exercised before there is a file. A browser compiles WebAssembly quickly at first,
 * to code that runs at half the speed, and again in the background what has run for a while. A loop that has begun in the first
 * code ends in it, so that most of the first file would be read and indexed by that.
 */

/** @typedef {import("./worker_engine.js").WasmEngine} WasmEngine */

const TRAIN_ROUNDS = 25; // 4,800 events: the fewer, the less memory the exercise takes
const TRAIN_TIMES = 48; // then what reads and draws is compiled again
const SAMPLE_LIVE = 64; // blocks that are allocated, then freed
const SAMPLE_STACKS = 16;
const SAMPLE_FRAMES = 20;
const SAMPLE_HEAD_BYTES = 32 * 1024; // of the stacks and of the words, at most
const SAMPLE_EVENT_BYTES = 80; // at most
const SAMPLE_BASE = 0x7f0000000000;
const SAMPLE_TIME_US = 1.7e15;

/** The opcodes of a pickle, in the order in which CPython writes them. */
class SampleWriter {
  /** @param {number} capacity */
  constructor(capacity) {
    this.bytes = new Uint8Array(capacity);
    this.view = new DataView(this.bytes.buffer);
    this.size = 0;
    this.remembered = 0;
    /** @type {Map<string, number>} */
    this.words = new Map();
    /** @type {number[]} */
    this.stacks = [];
  }

  /** @param {string} text  of single bytes */
  put(text) {
    for (let at = 0; at < text.length; at++) this.bytes[this.size++] = text.charCodeAt(at);
  }

  remember() {
    this.put("\x94");
    return this.remembered++;
  }

  /**
   * Opens a list or a dict.
   * @param {"]"|"}"} kind
   */
  open(kind) {
    this.put(kind);
    const number = this.remember();
    this.put("(");
    return number;
  }

  /**
   * What was remembered under a number.
   * @param {number} number
   */
  again(number) {
    this.put(number < 256 ? "h" : "j");
    if (number < 256) {
      this.bytes[this.size++] = number;
    } else {
      this.view.setUint32(this.size, number, true);
      this.size += 4;
    }
  }

  /** @param {string} text */
  word(text) {
    const known = this.words.get(text);
    if (known !== undefined) return this.again(known);
    this.put(`\x8c${String.fromCharCode(text.length)}${text}`);
    this.words.set(text, this.remember());
    return undefined;
  }

  /** @param {number} value */
  int(value) {
    if (value < 2 ** 31) {
      this.put("J");
      this.view.setInt32(this.size, value, true);
      this.size += 4;
    } else {
      this.put("\x8a\x08");
      this.view.setBigInt64(this.size, BigInt(value), true);
      this.size += 8;
    }
  }

  /** @param {number} number */
  stack(number) {
    if (this.stacks[number] !== undefined) return this.again(this.stacks[number]);
    this.stacks[number] = this.open("]");
    for (let at = 0; at < SAMPLE_FRAMES; at++) {
      this.dict({ name: `f${number * at}`, filename: `${at}.py`, line: at });
    }
    this.put("e");
    return undefined;
  }

  /** @param {Record<string, string|number>} members @param {number} [stack] */
  dict(members, stack) {
    this.open("}");
    for (const [key, value] of Object.entries(members)) {
      this.word(key);
      if (typeof value === "number") this.int(value);
      else this.word(value);
    }
    if (stack !== undefined) {
      this.word("frames");
      this.stack(stack);
    }
    this.put("u");
  }
}

/**
 * A snapshot as PyTorch pickles it, without segments: `rounds` times SAMPLE_LIVE allocations and their frees.
 * @param {number} rounds
 */
export function sampleSnapshot(rounds) {
  const writer = new SampleWriter(SAMPLE_HEAD_BYTES + rounds * SAMPLE_LIVE * 3 * SAMPLE_EVENT_BYTES);
  let time = SAMPLE_TIME_US;
  /** @param {string} action @param {number} block */
  const event = (action, block) => {
    time += 7;
    writer.dict({
      action, addr: SAMPLE_BASE + block * 0x200000, size: 512 << (block & 7), stream: 0, time_us: time,
      compile_context: "N/A", user_metadata: "",
    }, block % SAMPLE_STACKS);
  };
  writer.put("\x80\x04");
  writer.open("}");
  writer.word("segments");
  writer.put("]");
  writer.remember();
  writer.word("device_traces");
  writer.open("]");
  writer.open("]");
  for (let round = 0; round < rounds; round++) {
    for (let block = 0; block < SAMPLE_LIVE; block++) event("alloc", block);
    for (let at = 0; at < SAMPLE_LIVE; at++) {
      const block = at * 7 % SAMPLE_LIVE; // each once, in another order
      event("free_requested", block);
      event("free_completed", block);
    }
  }
  writer.put("eeu.");
  return writer.bytes.subarray(0, writer.size);
}

/** What the page asks of each file first. */
const TRAIN_PICTURE = { what: "allocations", axis: "event", by: "line", x0: null, x1: null, y0: 0, y1: null, columns: 1200 };
const TRAIN_REQUESTS = [
  { method: "info", params: { top: 1 } },
  { method: "marks", params: { device: 0 } },
  { method: "picture", params: { ...TRAIN_PICTURE, rows: 40 } },
  { method: "picture", params: { ...TRAIN_PICTURE, rows: 700 } },
  { method: "groups", params: { what: "allocations", by: "line", top: 19 } },
  { method: "report", params: { top: 12, frames: 1 } },
];

/**
 * Reads and draws the sample until the browser has compiled all that this takes for the second time.
 * @param {WasmEngine} engine  that is thrown away afterwards
 */
export async function trainEngine(engine) {
  const sample = sampleSnapshot(TRAIN_ROUNDS);
  engine.copiesReplies = false; // 7 MB that nothing reads
  for (let time = 0; time < TRAIN_TIMES; time++) {
    const pieces = [sample];
    await engine.load("sample", sample.length, { isCompressed: false, next: async () => pieces.pop() ?? null });
    for (const request of TRAIN_REQUESTS) engine.request(new TextEncoder().encode(JSON.stringify(request)));
  }
  engine.copiesReplies = true;
}
