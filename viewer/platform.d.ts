/* What the browsers have that the page is for (of 2023 and later), and the library of the checker does not know yet. */

declare namespace WebAssembly {
  /** JavaScript Promise Integration; not in every browser. */
  const Suspending: undefined | (new (call: Function) => () => unknown);
  const promising: undefined | (<A extends unknown[], R>(call: (...values: A) => R) => (...values: A) => Promise<R>);
}

declare class DecompressionStream implements ReadableWritablePair<Uint8Array, BufferSource> {
  constructor(format: "gzip" | "deflate-raw");
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<BufferSource>;
}

interface Array<T> {
  findLast(isIt: (value: T, index: number) => boolean): T | undefined;
  toReversed(): T[];
}

interface ReadonlyArray<T> {
  toReversed(): T[];
}

interface String {
  toWellFormed(): string;
}

interface CanvasPath {
  roundRect(x: number, y: number, width: number, height: number, radii: number): void;
}

interface FocusOptions {
  focusVisible?: boolean;
}

interface HTMLElementTagNameMap {
  search: HTMLElement;
}

/** Of the page that tools/bundle_viewer makes: the packed data of an element. */
declare function unpackElement(id: string): Response;
