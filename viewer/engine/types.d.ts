/* The messages between the page, the carriers and the worker. The replies themselves: src/query/replies.d.ts. */

/** The reply of each method, by its name. */
interface ReplyOf {
  report: Replies.ReportReply;
  stats: Replies.StatsReply;
  live: Replies.LiveReply;
  tree: Replies.TreeReply;
  blocks: Replies.BlocksReply;
  events: Replies.EventsReply;
  find: Replies.FindReply;
  segments: Replies.SegmentsReply;
  state: Replies.StateReply;
  timeline: Replies.TimelineReply;
  marks: Replies.MarksReply;
  picture: Replies.PictureReply;
  groups: Replies.GroupsReply;
  pick: Replies.PickReply;
  allocation: Replies.AllocationReply;
  allocations: Replies.AllocationsReply;
  map: Replies.MapReply;
  holes: Replies.HolesReply;
  ledger: Replies.LedgerReply;
  bands: Replies.BandsReply;
  fragmentation: Replies.FragmentationReply;
  info: Replies.InfoReply;
  methods: Replies.MethodsReply;
  settings: Replies.SettingsReply;
  replay: Replies.ReplayReply;
  whatif: Replies.WhatifReply;
  course: Replies.CourseReply;
}

type MethodName = keyof ReplyOf;

/** Parameters of a question, by their names in src/query/methods.def; what is undefined is left out. */
type Params = Record<string, string | number | boolean | null | undefined>;

/** The engine of one file. */
interface Engine {
  /** The reply, or an EngineError. */
  ask<M extends MethodName>(method: M, params?: Params): Promise<ReplyOf[M]>;
  /** Sends a request only once: for replies that never change. */
  once<M extends MethodName>(method: M, params?: Params): Promise<ReplyOf[M]>;
  /** One in flight per slot; of those that wait only the newest is sent, the others give null. */
  latest<M extends MethodName>(slot: string, method: M, params?: Params): Promise<ReplyOf[M] | null>;
  carrier: Carrier;
  close(): void;
}

/** Sends the bytes of requests to an engine and returns those of replies. */
interface Carrier {
  /** Reads the file. The reply of `info`, where reading it gave one. */
  load(source?: Blob, onProgress?: (bytesRead: number, bytes: number | null) => void): Promise<Replies.InfoReply | null>;
  request(bytes: Uint8Array): Promise<ArrayBuffer>;
  cancel(): void;
  close(): void;
}

/** The request for `info` that the first lines of a served page send, before its script is unpacked (tools/bundle_viewer). */
interface FirstRequest {
  abort: AbortController;
  response: Promise<Response>;
}
declare var firstRequest: FirstRequest | undefined;

/** Of Engine.latest: the request in flight, and the newest one that waits for it. */
interface EngineSlot {
  busy: boolean;
  waiting: null | { send: () => Promise<unknown>; resolve: (reply: unknown) => void; reject: (error: unknown) => void };
}

/** Why something failed, as plain data between workers. */
interface Failure {
  message: string;
  status: number | null;
  offset: number | null;
}

/** Where a column lies in the bytes of a reply. */
interface ColumnPlace {
  type: "u8" | "u16" | "i32" | "u32" | "u64" | "f64";
  count: number;
  at: number;
}

type TypedColumn = Uint8Array | Uint16Array | Uint32Array | Int32Array | BigUint64Array | Float64Array;

/** The pieces of a file, one after another; null behind the last. */
type PieceReader = () => Promise<Uint8Array | null>;

/** The sender of a file's pieces (worker_input.js). */
interface ReceivedInput {
  isCompressed: boolean;
  next: PieceReader;
}

/** What serveInput sends: first whether the file is compressed, then pieces or why there is none. */
interface InputMessage {
  isCompressed?: boolean;
  piece?: Uint8Array | null;
  bytesRead?: number;
  error?: Failure;
}

/** What the module exports: src/faces/web/web.h. */
interface EngineExports {
  memory: WebAssembly.Memory;
  vs_web_init(): number;
  vs_web_buffer(size: number): number;
  vs_web_load(nameSize: number, size: number, flags: number): number;
  vs_web_request(size: number): number;
  vs_web_error(): number;
}

interface WorkerPair {
  engine: Worker;
  reader: Worker;
}

type WorkerQuestion = { kind: "load"; module: WebAssembly.Module; port: MessagePort; name: string; size: number }
  | { kind: "request"; bytes: Uint8Array };
type WorkerMessage = (WorkerQuestion & { number: number }) | { kind: "read"; blob: Blob; port: MessagePort }
  | { kind: "warm"; module: WebAssembly.Module } | { kind: "train"; module: WebAssembly.Module };
type WorkerAnswer = { kind: "progress"; bytesRead: number } | { kind: "done"; number: number; reply: ArrayBuffer | null }
  | { kind: "failed"; number: number; error: Failure };

/** An Error of any kind; an EngineError says more. */
type Problem = Error & Partial<Pick<Failure, "status" | "offset">>;
