// Splits the octets of a child process into lines, for parts of any size.

/** Octets in, lines out, without line ends; the last line needs none. */
export class TextLineStream implements TransformStream<Uint8Array, string> {
  readonly readable: ReadableStream<string>;
  readonly writable: WritableStream<Uint8Array>;

  constructor() {
    const decoder = new TextDecoder();
    let rest = "";
    const inner = new TransformStream<Uint8Array, string>({
      transform(octets, controller) {
        const parts = (rest + decoder.decode(octets, { stream: true })).split("\n");
        rest = parts.pop() ?? "";
        for (const line of parts) controller.enqueue(line);
      },
      flush(controller) {
        if (rest !== "") controller.enqueue(rest);
      },
    });
    this.readable = inner.readable;
    this.writable = inner.writable;
  }
}
