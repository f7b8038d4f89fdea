// Cursors over octets: a buffer that grows, and a reader that cannot run past the end.

/** The backup cannot be used; `message` says why, without the name of the file. */
export class BackupFault extends Error {}

const FIRST_OCTETS = 1 << 16;
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export class OctetWriter {
  #buffer = new Uint8Array(FIRST_OCTETS);
  #view = new DataView(this.#buffer.buffer);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Removes everything after the first `length` octets. */
  truncate(length: number): void {
    this.#length = Math.min(this.#length, length);
  }

  octet(value: number): void {
    this.#reserve(1);
    this.#buffer[this.#length++] = value;
  }

  /** A whole number from 0 to 2^53 - 1: seven bits per octet, lowest first. */
  count(value: number): void {
    this.#reserve(8);
    let rest = value;
    while (rest >= 0x80) {
      this.#buffer[this.#length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#buffer[this.#length++] = rest;
  }

  double(value: number): void {
    this.#reserve(8);
    this.#view.setFloat64(this.#length, value);
    this.#length += 8;
  }

  octets(value: Uint8Array): void {
    this.#reserve(value.length);
    this.#buffer.set(value, this.#length);
    this.#length += value.length;
  }

  /** The length and the text in UTF-8. */
  text(value: string): void {
    // Short texts fit without a second pass, because their length has one octet.
    if (value.length * 3 < 0x80) {
      this.#reserve(1 + value.length * 3);
      const { written } = encoder.encodeInto(value, this.#buffer.subarray(this.#length + 1));
      this.#buffer[this.#length] = written;
      this.#length += 1 + written;
    } else {
      const octets = encoder.encode(value);
      this.count(octets.length);
      this.octets(octets);
    }
  }

  /** Everything that was written, as a copy; the writer is empty then. */
  take(): Uint8Array<ArrayBuffer> {
    const octets = this.#buffer.slice(0, this.#length);
    this.#length = 0;
    return octets;
  }

  #reserve(octets: number): void {
    if (this.#length + octets <= this.#buffer.length) return;
    const larger = new Uint8Array(Math.max(this.#buffer.length * 2, this.#length + octets));
    larger.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = larger;
    this.#view = new DataView(larger.buffer);
  }
}

export class OctetReader {
  readonly #octets: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(octets: Uint8Array) {
    this.#octets = octets;
    this.#view = new DataView(octets.buffer, octets.byteOffset, octets.length);
  }

  get isAtEnd(): boolean {
    return this.#at === this.#octets.length;
  }

  octet(): number {
    return this.octets(1)[0] ?? 0;
  }

  count(): number {
    let value = 0;
    let factor = 1;
    for (let length = 0; length < 8; length++) {
      const octet = this.octet();
      value += (octet & 0x7f) * factor;
      if (octet < 0x80) return value;
      factor *= 0x80;
    }
    throw new BackupFault("a number is too long");
  }

  /** A count of items that follow, of at least one octet each. */
  items(): number {
    const count = this.count();
    if (count > this.#octets.length - this.#at) throw new BackupFault("a value is longer than its block");
    return count;
  }

  double(): number {
    const at = this.#at;
    this.octets(8);
    return this.#view.getFloat64(at);
  }

  octets(length: number): Uint8Array {
    if (length > this.#octets.length - this.#at) throw new BackupFault("a value is longer than its block");
    this.#at += length;
    return this.#octets.subarray(this.#at - length, this.#at);
  }

  text(): string {
    const octets = this.octets(this.count());
    try {
      return decoder.decode(octets);
    } catch (fault) {
      throw new BackupFault("a text is not UTF-8", { cause: fault });
    }
  }
}
