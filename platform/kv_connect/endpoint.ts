// The data path of a KV Connect endpoint: metadata, connections that are reused, and which calls may be repeated.
// https://github.com/denoland/denokv/blob/main/proto/kv-connect.md

import { type Clock, pauseFor, withTimeout } from "../runtime.ts";
import { StoreUnavailable } from "../store_fault.ts";

export interface EndpointDeps {
  readonly clock: Clock;
  readonly token: string;
}

/** Requests in progress at the same time; further ones wait. denokv processes them one after another anyway. */
const MAX_CONNECTIONS = 16;
/** A NAT or a firewall may forget a connection that was idle for longer, without telling its ends. */
const MAX_IDLE_MS = 30_000;
const RETRY_MS = 100;
/** A message of a watch begins with its length. A ping is a message without content. */
const PING_OCTETS = 4;
const METADATA_TIMEOUT_MS = 10_000;
/** Metadata is renewed this long before it expires. */
const RENEW_BEFORE_MS = 60_000;
const VERSIONS = [2, 3];

interface Metadata {
  readonly base: URL;
  readonly head: (method: string) => string;
  readonly renewAtMs: number;
}

interface IdleConnection {
  readonly connection: HttpConnection;
  readonly sinceMs: number;
}

/** A call of the data path. A read may be repeated; a write is sent once. */
type KvMethod = "snapshot_read" | "atomic_write";

export class KvEndpoint {
  readonly #url: string;
  readonly #deps: EndpointDeps;
  /** The connection that was used last comes last. */
  readonly #idle: IdleConnection[] = [];
  readonly #open = new Set<HttpConnection>();
  readonly #waiting: (() => void)[] = [];
  #metadata: Metadata | null = null;
  #renewing: Promise<Metadata> | null = null;
  #inUse = 0;
  #isClosed = false;

  constructor(url: string, deps: EndpointDeps) {
    this.#url = url;
    this.#deps = deps;
  }

  /** Makes the metadata exchange. @throws StoreUnavailable or Error */
  async check(): Promise<void> {
    await this.#currentMetadata();
  }

  /**
   * Sends a request. Waits while the server refuses connections: the caller has a deadline, and ends the wait with `close()`.
   *
   * @throws StoreUnavailable if a write has no answer (`wasSent`), or the endpoint was closed
   * @throws Error if the server refuses the request (HTTP 4xx): it was not carried out
   */
  async call(method: KvMethod, body: Uint8Array): Promise<Uint8Array> {
    await this.#take();
    try {
      for (let isRenewed = false;; await this.#pause()) {
        const metadata = await this.#currentMetadata();
        const answer = await this.#send(metadata, { method, body });
        if (answer === null) continue;
        if (answer.status === 200) return answer.body;
        const text = new TextDecoder().decode(answer.body).slice(0, 300);
        if (answer.status >= 500) {
          if (method === "atomic_write") {
            throw new StoreUnavailable(`The store failed: ${text}`, { wasSent: true });
          }
          continue;
        }
        const isToken = answer.status === 401 || answer.status === 403;
        if (!isToken || isRenewed) {
          throw new Error(`The store refused the call (HTTP ${answer.status}): ${text}`);
        }
        isRenewed = true;
        this.#metadata = null;
      }
    } finally {
      this.#inUse--;
      this.#waiting.shift()?.();
    }
  }

  /**
   * Watches keys until one of them changes, on a connection of its own, so that a server under load sends one message and not one for each
   * commit.
   *
   * @param body a watch request
   * @param options.onReady called when each later change is seen
   * @throws an error if the server cannot watch, cannot be reached within `timeoutMs`, or sees no change within that time
   */
  async waitForChange(
    body: Uint8Array,
    { onReady, timeoutMs }: { onReady: () => void; timeoutMs: number },
  ): Promise<void> {
    const { base, head } = await this.#currentMetadata();
    this.#requireOpen();
    const connection = await this.#openInTime(base, timeoutMs);
    this.#open.add(connection);
    if (this.#isClosed) connection.close();
    const cancel = this.#deps.clock.after(timeoutMs, () => connection.close());
    let messages = 0;
    try {
      await connection.postStream(head("watch"), body, (chunkOctets) => {
        if (chunkOctets <= PING_OCTETS) return false;
        // The first message is the present state.
        if (++messages === 1) onReady();
        return messages > 1;
      });
    } finally {
      cancel();
      connection.close();
      this.#open.delete(connection);
    }
  }

  async #openInTime(base: URL, timeoutMs: number): Promise<HttpConnection> {
    const opening = HttpConnection.open(base);
    const opened = await withTimeout(opening, { clock: this.#deps.clock, timeoutMs });
    if (opened.inTime) return opened.value;
    void opening.then((late) => late.close(), () => undefined);
    throw new ConnectionEnded("The store cannot be reached in time");
  }

  /** Ends all connections. Calls in progress fail. */
  close(): void {
    this.#isClosed = true;
    for (const connection of this.#open) connection.close();
    for (const proceed of this.#waiting.splice(0)) proceed();
  }

  /** The answer; `null` if the request may be sent again. */
  async #send(
    { base, head }: Metadata,
    { method, body }: { method: KvMethod; body: Uint8Array },
  ): Promise<ConnectionAnswer | null> {
    const connection = await this.#connect(base);
    if (connection === null) return null;
    try {
      const answer = await connection.post(head(method), body);
      if (connection.isUsable) this.#idle.push({ connection, sinceMs: this.#deps.clock.nowMs() });
      else this.#open.delete(connection);
      return answer;
    } catch (fault) {
      this.#open.delete(connection);
      if (!(fault instanceof ConnectionEnded)) throw fault;
      if (method === "snapshot_read" && !this.#isClosed) return null;
      throw new StoreUnavailable("The connection to the store ended", { wasSent: true });
    }
  }

  /** The connection that was used last, or a new one; `null` if the server cannot be reached. */
  async #connect(base: URL): Promise<HttpConnection | null> {
    this.#closeIdle();
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (idle.connection.isUsable) return idle.connection;
      this.#open.delete(idle.connection);
    }
    try {
      const connection = await HttpConnection.open(base);
      this.#open.add(connection);
      if (this.#isClosed) connection.close();
      return connection;
    } catch (_unreachable) {
      return null;
    }
  }

  #closeIdle(): void {
    const endMs = this.#deps.clock.nowMs() - MAX_IDLE_MS;
    while (this.#idle[0] !== undefined && this.#idle[0].sinceMs < endMs) {
      const { connection } = this.#idle.shift() as IdleConnection;
      connection.close();
      this.#open.delete(connection);
    }
  }

  /** Waits for a free place. */
  async #take(): Promise<void> {
    if (this.#inUse >= MAX_CONNECTIONS) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#inUse++;
    this.#requireOpen();
  }

  async #pause(): Promise<void> {
    this.#requireOpen();
    await pauseFor(this.#deps.clock, RETRY_MS);
    this.#requireOpen();
  }

  #requireOpen(): void {
    if (this.#isClosed) throw new StoreUnavailable("The connection to the store was closed");
  }

  async #currentMetadata(): Promise<Metadata> {
    if (this.#metadata !== null && this.#deps.clock.nowMs() < this.#metadata.renewAtMs) return this.#metadata;
    this.#renewing ??= this.#exchangeMetadata().finally(() => this.#renewing = null);
    this.#metadata = await this.#renewing;
    return this.#metadata;
  }

  async #exchangeMetadata(): Promise<Metadata> {
    const { clock, token } = this.#deps;
    const url = new URL(this.#url);
    const head = `POST ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\n` +
      `authorization: Bearer ${line(token)}\r\ncontent-type: application/json\r\nconnection: close\r\n`;
    // A connection of its own: the others may be dead.
    const exchange = HttpConnection.open(url).then((connection) => {
      this.#open.add(connection);
      if (this.#isClosed) connection.close();
      return connection.post(head, new TextEncoder().encode(JSON.stringify({ supportedVersions: VERSIONS })))
        .finally(() => {
          this.#open.delete(connection);
          connection.close();
        });
    }).catch(() => null);
    const result = await withTimeout(exchange, { clock, timeoutMs: METADATA_TIMEOUT_MS });
    const answer = result.inTime ? result.value : null;
    if (answer === null || answer.status >= 500) {
      // An old answer is still the best one while the server does not answer.
      if (this.#metadata !== null) return this.#metadata;
      throw new StoreUnavailable("The store does not answer");
    }
    if (answer.status !== 200) throw new Error(`The store refused the access token (HTTP ${answer.status})`);
    return this.#parseMetadata(new TextDecoder().decode(answer.body));
  }

  #parseMetadata(text: string): Metadata {
    const { version, databaseId, endpoints, token, expiresAt } = JSON.parse(text);
    const strong = endpoints.find(({ consistency }: { consistency: string }) => consistency === "strong");
    if (!VERSIONS.includes(version) || strong === undefined) {
      throw new Error(
        "Cannot use this store: its KV Connect metadata has no strong endpoint of version 2 or 3",
      );
    }
    const base = new URL(strong.url, this.#url);
    // The token of the database and all data would leave the encrypted connection.
    if (base.protocol !== "https:" && new URL(this.#url).protocol === "https:") {
      throw new Error("Cannot use this store: its KV Connect metadata names an endpoint without https");
    }
    const path = base.pathname.replace(/\/$/, "");
    const nowMs = this.#deps.clock.nowMs();
    return {
      base,
      head: (method) =>
        `POST ${path}/${method} HTTP/1.1\r\nhost: ${base.host}\r\nauthorization: Bearer ${line(token)}\r\n` +
        `content-type: application/x-protobuf\r\nx-denokv-version: ${version}\r\n` +
        `x-denokv-database-id: ${line(databaseId)}\r\nuser-agent: Countersign\r\n`,
      // At most once a minute, also if the clock of the server is a day behind.
      renewAtMs: Math.max(nowMs + RENEW_BEFORE_MS, Date.parse(expiresAt) - RENEW_BEFORE_MS),
    };
  }
}

/** A value of a header field. @throws Error if it contains a line end or anything else that is not printable */
function line(value: string): string {
  if (!/^[!-~]+$/.test(value)) {
    throw new Error("Cannot use this store: the token or the id of its database is not text");
  }
  return value;
}

// One HTTP/1.1 connection (RFC 9112) for small requests, without Nagle's algorithm. The runtime's `fetch` and its client of KV Connect do
// not set TCP_NODELAY: a request of over 1,000 octets then waits some 40 ms for the delayed acknowledgement (RFC 1122 §4.2.3.2) of its
// first part.

/** A response with its whole body. */
interface ConnectionAnswer {
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
