// Runs a test program of ../unit (see unit.c), in node as in a browser.

class Failure extends Error {}
class Skipped extends Error {}

/**
 * @param {WebAssembly.Module} module
 * @returns {{passed: string[], skipped: string[], failed: {name: string, text: string}[]}}
 */
export function runUnitProgram(module) {
  const names = listTests(module);
  const result = { passed: [], skipped: [], failed: [] };
  names.forEach((name, number) => {
    try {
      start(module, (n) => n === number);
      result.passed.push(name);
    } catch (error) {
      if (error instanceof Skipped) result.skipped.push(name);
      else result.failed.push({ name, text: error instanceof Failure ? error.message : String(error.stack ?? error) });
    }
  });
  return result;
}

/**
 * The same for programs that are fetched: in a page that is served beside them.
 * @param {string} base  address of the folder of programs, with its slash
 * @param {string[]} programs  file names
 * @returns {Promise<{program: string, passed: string[], skipped: string[], failed: object[]}[]>}
 */
export async function fetchAndRun(base, programs) {
  const results = [];
  for (const program of programs) {
    const bytes = await (await fetch(base + program)).arrayBuffer();
    results.push({ program, ...runUnitProgram(await WebAssembly.compile(bytes)) });
  }
  return results;
}

function listTests(module) {
  const names = [];
  start(module, (number, name) => {
    names[number] = name;
    return false;
  });
  return names;
}

function start(module, choose) {
  let exports = null;
  const said = [];
  const unit = {
    fail: (file, line, format, args) => {
      const { memory } = exports;
      throw new Failure(`${textAt(memory, file)}:${line}: ${formatted(memory, format, args)}${said.join("")}`);
    },
    skip: () => {
      throw new Skipped();
    },
    say: (format, args) => said.push(`\n  ${formatted(exports.memory, format, args)}`),
    selected: (number, name) => choose(number, textAt(exports.memory, name)) ? 1 : 0,
  };
  exports = new WebAssembly.Instance(module, { unit }).exports;
  exports.unit_main();
}

function textAt(memory, at, most = 4096) {
  const bytes = new Uint8Array(memory.buffer, at, Math.min(most, memory.buffer.byteLength - at));
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(bytes.slice(0, end < 0 ? bytes.length : end));
}

// printf, as far as tests use it. Arguments lie in memory, each aligned to its size.
function formatted(memory, format, args) {
  const view = new DataView(memory.buffer);
  let at = args;
  const take = (size, read) => {
    at = Math.ceil(at / size) * size;
    const value = read.call(view, at, true);
    at += size;
    return value;
  };
  const directive = /%[-0 #]*(\*|\d+)?(?:\.(\*|\d+))?(ll|l|z|h|j)?([a-zA-Z%])/g;
  return textAt(memory, format).replace(directive, (_, width, most, length, kind) => {
    if (kind === "%") return "%";
    if (width === "*") take(4, view.getInt32);
    const limit = most === "*" ? take(4, view.getInt32) : most;
    if (kind === "s") return textAt(memory, take(4, view.getUint32), limit === undefined ? undefined : Number(limit));
    if ("fgeEG".includes(kind)) return String(take(8, view.getFloat64));
    const isLong = length === "ll" || length === "j";
    const isSigned = kind === "d" || kind === "i";
    const value = isLong ? take(8, isSigned ? view.getBigInt64 : view.getBigUint64)
      : take(4, isSigned || kind === "c" ? view.getInt32 : view.getUint32);
    if (kind === "c") return String.fromCharCode(value);
    return value.toString(kind === "x" ? 16 : 10);
  });
}
