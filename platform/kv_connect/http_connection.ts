// One HTTP/1.1 connection (RFC 9112) for small requests, without Nagle's algorithm. The runtime's `fetch` and its client of KV Connect do
// not set TCP_NODELAY: a request of over 1,000 octets then waits some 40 ms for the delayed acknowledgement (RFC 1122 §4.2.3.2) of its
// first part.

/** A response with its whole body. */
export interface ConnectionAnswer {
  readonly status: number;
  readonly body: Uint8Array;
}

/** The connection ended, or the answer is not HTTP. Whether the request was processed is unknown. */
export class ConnectionEnded extends Error {}

/** The largest answer is 1,000 entries of 64 KiB. */
const MAX_ANSWER_OCTETS = 80_000_000;
/** A stream is read up to the first change: some messages and pings. */
const MAX_STREAM_OCTETS = 262_144;
const MAX_HEAD_OCTETS = 16_384;
const FIRST_BUFFER_OCTETS = 16_384;

const toUtf8 = new TextEncoder();
const fromLatin1 = new TextDecoder("latin1");

interface ResponseHead {
  readonly status: number;
  readonly lengthOctets: number;
  /** `null`: chunked. */
  readonly bodyOctets: number | null;
  readonly isLast: boolean;
}

export class HttpConnection {
  readonly #conn: Deno.Conn;
  #buffer = new Uint8Array(FIRST_BUFFER_OCTETS);
  #length = 0;
  /** Of an answer with its head and the sizes of its chunks. */
  #maxOctets = MAX_ANSWER_OCTETS + MAX_HEAD_OCTETS;
  #reading: Promise<boolean> | null = null;
  #isEnded = false;
  #isBusy = false;

  private constructor(conn: Deno.Conn) {
    this.#conn = conn;
  }

  /** Connects to the host and port of an http or https URL. @throws an error of the platform if it cannot connect */
  static async open(url: URL): Promise<HttpConnection> {
    const isTls = url.protocol === "https:";
    // An IPv6 address is in brackets in a URL.
    const hostname = url.hostname.replace(/^\[|\]$/g, "");
    const conn = await Deno.connect({ hostname, port: Number(url.port) || (isTls ? 443 : 80) });
    conn.setNoDelay(true);
    return new HttpConnection(
      isTls ? await Deno.startTls(conn, { hostname, alpnProtocols: ["http/1.1"] }) : conn,
    );
  }

  /** Whether another request can be sent. An idle connection that the server closed cannot be used. */
  get isUsable(): boolean {
    return !this.#isEnded;
  }

  /** Sends a POST request and reads the answer. One at a time. @throws ConnectionEnded */
  post(head: string, body: Uint8Array): Promise<ConnectionAnswer> {
    return this.#ask(head, body, () => this.#readAnswer());
  }

  /**
   * Sends a POST request whose answer has no end, and reads chunks until `isLast` returns `true` for the size of one. Ends the connection.
   *
   * @throws ConnectionEnded also if the answer is an error, or has 256 KiB before that chunk
   */
  async postStream(
    head: string,
    body: Uint8Array,
    isLast: (chunkOctets: number) => boolean,
  ): Promise<void> {
    this.#maxOctets = MAX_STREAM_OCTETS;
    await this.#ask(head, body, async () => {
      const { status, lengthOctets, bodyOctets } = await this.#readHead();
      if (status !== 200 || bodyOctets !== null) throw new ConnectionEnded(`No stream: HTTP ${status}`);
      await this.#readChunks(lengthOctets, isLast);
    });
    this.close();
  }

  async #ask<T>(head: string, body: Uint8Array, read: () => Promise<T>): Promise<T> {
    const headOctets = toUtf8.encode(`${head}content-length: ${body.length}\r\n\r\n`);
    const request = new Uint8Array(headOctets.length + body.length);
    request.set(headOctets);
    request.set(body, headOctets.length);
    this.#isBusy = true;
    try {
      for (let sent = 0; sent < request.length;) sent += await this.#conn.write(request.subarray(sent));
      return await read();
    } catch (fault) {
      this.close();
      throw fault instanceof ConnectionEnded ? fault : new ConnectionEnded(String(fault), { cause: fault });
    } finally {
      this.#isBusy = false;
    }
  }

  /** Ends the connection. A request in progress fails. */
  close(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    try {
      this.#conn.close();
    } catch (fault) {
      if (!(fault instanceof Deno.errors.BadResource)) throw fault;
    }
  }

  async #readAnswer(): Promise<ConnectionAnswer> {
    const { status, lengthOctets, bodyOctets, isLast } = await this.#readHead();
    const end = bodyOctets === null ? null : lengthOctets + bodyOctets;
    const body = end === null ? await this.#readChunks(lengthOctets) : await this.#readTo(lengthOctets, end);
    // Octets after the answer belong to no request. They would be taken for the answer of the next one.
    const hasSurplus = end !== null && this.#length > end;
    this.#length = 0;
    if (isLast || hasSurplus) this.close();
    else this.#watchIdle();
    return { status, body };
  }

  async #readHead(): Promise<ResponseHead> {
    let head = this.#parseHead();
    for (; head === null; head = this.#parseHead()) await this.#more();
    return head;
  }

  async #readTo(start: number, end: number): Promise<Uint8Array> {
    while (this.#length < end) await this.#more();
    return this.#buffer.slice(start, end);
  }

  /** RFC 9112 §7.1. @param isLast whether the rest of the chunks is not wanted */
  async #readChunks(
    start: number,
    isLast: (chunkOctets: number) => boolean = () => false,
  ): Promise<Uint8Array> {
    const chunks: Uint8Array[] = [];
    for (let at = start;;) {
      let lineEnd = this.#find("\r\n", at);
      for (; lineEnd < 0; lineEnd = this.#find("\r\n", at)) await this.#more();
      const size = parseInt(fromLatin1.decode(this.#buffer.subarray(at, lineEnd)), 16);
      if (!(size >= 0 && size <= MAX_ANSWER_OCTETS)) {
        throw new ConnectionEnded("The answer has a wrong chunk");
      }
      const from = lineEnd + 2;
      const chunk = await this.#readTo(from, from + size + 2);
      if (size === 0 || isLast(size)) return await new Blob(chunks as Uint8Array<ArrayBuffer>[]).bytes();
      chunks.push(chunk.subarray(0, size));
      at = from + size + 2;
    }
  }

  #parseHead(): ResponseHead | null {
    const end = this.#find("\r\n\r\n", 0);
    if (end < 0) {
      if (this.#length > MAX_HEAD_OCTETS) throw new ConnectionEnded("The answer has no end of its head");
      return null;
    }
    const [line = "", ...fields] = fromLatin1.decode(this.#buffer.subarray(0, end)).split("\r\n");
    const status = Number(/^HTTP\/1\.1 (\d{3})( |$)/.exec(line)?.[1]);
    const valueOf = (name: string) =>
      fields.find((field) => field.toLowerCase().startsWith(`${name}:`))?.slice(name.length + 1).trim()
        .toLowerCase();
    const length = valueOf("content-length");
    const isChunked = valueOf("transfer-encoding") === "chunked";
    const bodyOctets = isChunked ? null : Number(length);
    if (!(status >= 200) || (bodyOctets !== null && !(bodyOctets <= MAX_ANSWER_OCTETS))) {
      throw new ConnectionEnded("The answer is not one of HTTP/1.1 with a length");
    }
    return { status, lengthOctets: end + 4, bodyOctets, isLast: valueOf("connection") === "close" };
  }

  #find(text: string, from: number): number {
    const wanted = [...text].map((letter) => letter.charCodeAt(0));
    const limit = Math.min(this.#length, from + MAX_HEAD_OCTETS) - wanted.length;
    for (let at = from; at <= limit; at++) {
      if (wanted.every((octet, offset) => this.#buffer[at + offset] === octet)) return at;
    }
    return -1;
  }

  async #more(): Promise<void> {
    const reading = this.#reading ?? this.#read();
    this.#reading = null;
    if (!await reading) throw new ConnectionEnded("The store closed the connection");
  }

  /** Waits for more octets; `false` at the end of the connection. @throws ConnectionEnded if the answer is too long */
  async #read(): Promise<boolean> {
    if (this.#length >= this.#maxOctets) throw new ConnectionEnded("The answer is too long");
    if (this.#length === this.#buffer.length) {
      const larger = new Uint8Array(this.#buffer.length * 2);
      larger.set(this.#buffer);
      this.#buffer = larger;
    }
    const octets = await this.#conn.read(this.#buffer.subarray(this.#length));
    this.#length += octets ?? 0;
    return octets !== null;
  }

  /** Reads also while no request is in progress, so that the end of the connection is known before the next request. */
  #watchIdle(): void {
    this.#buffer = this.#buffer.length > FIRST_BUFFER_OCTETS * 8
      ? new Uint8Array(FIRST_BUFFER_OCTETS)
      : this.#buffer;
    const reading = this.#read();
    this.#reading = reading;
    // The end of the connection, or octets that no request asked for, such as the 408 of a proxy.
    const endIfIdle = (): void => {
      if (!this.#isBusy) this.close();
    };
    reading.then(endIfIdle, endIfIdle);
  }
}
