// Views of the first octets of one buffer. A view takes more time and memory than the octets that it usually has, so each is created once.

/** At most one view for each length of the buffer. */
export class PrefixViews {
  readonly #buffer: Uint8Array<ArrayBuffer>;
  readonly #views: (Uint8Array<ArrayBuffer> | undefined)[] = [];

  constructor(buffer: Uint8Array<ArrayBuffer>) {
    this.#buffer = buffer;
  }

  /** The first `lengthOctets` of the buffer. Callers share the view. */
  of(lengthOctets: number): Uint8Array<ArrayBuffer> {
    const known = this.#views[lengthOctets];
    if (known !== undefined) return known;
    const view = this.#buffer.subarray(0, lengthOctets);
    this.#views[lengthOctets] = view;
    return view;
  }
}
