// Syslog over TLS (RFC 5425). The protocol has no acknowledgement, so the end of the connection is used as one: after a moment without an end by the
// receiver, the sender closes its side (close_notify), and the receiver answers with the end of its side, which RFC 5425 §4.4 requires. If the receiver
// closed first, or reset the connection, everything since the connection began is sent again (docs/adr/0019).

import { sanitizeDetail } from "../control_characters.ts";
import { type Clock, withTimeout } from "../runtime.ts";
import type { ChannelProblem, SyslogFormat } from "./destination_choices.ts";
import type { EcsRecord } from "./ecs_fields.ts";
import { ChannelFault, type LogChannel } from "./log_channel.ts";
import { encodeSyslog, frameSyslog, MAX_STREAM_OCTETS } from "./syslog_message.ts";

export interface SyslogTlsSettings {
  readonly host: string;
  readonly port: number;
  /** Certificates (PEM) of the authorities that are accepted; "": those of the platform. */
  readonly ca: string;
  /** The client certificate and its key (PEM), or "" for none. */
  readonly certificate: string;
  readonly privateKey: string;
  readonly format: SyslogFormat;
  readonly facility: number;
}

/** The part of `Deno.TlsConn` that is used. */
export interface TlsConnection {
  handshake(): Promise<unknown>;
  write(octets: Uint8Array): Promise<number>;
  read(into: Uint8Array): Promise<number | null>;
  closeWrite(): Promise<void>;
  close(): void;
}

/** `Deno.connectTls`. */
export type ConnectTls = (
  options: Deno.ConnectTlsOptions & Partial<Deno.TlsCertifiedKeyPem>,
) => Promise<TlsConnection>;

export interface SyslogTlsDeps {
  readonly connect: ConnectTls;
  readonly clock: Clock;
}

/** The connection and the handshake. */
const CONNECT_MS = 10_000;
/** A receiver that does not take a batch for so long is slow. */
const WRITE_MS = 30_000;
/** Before the sender closes its side: an end by the receiver that it did not see yet would look like the answer. */
const QUIET_MS = 1000;
/** How long the receiver may take to close its side. */
const CLOSE_MS = 10_000;
/** How long one connection is used. */
const CONNECTION_MS = 15_000;
const MAX_CHUNK_OCTETS = 64 * 1024;

type ConnectionEnd = "closed" | "reset";

export class SyslogTlsChannel implements LogChannel {
  readonly confirmAfterMs = CONNECTION_MS;
  readonly #deps: SyslogTlsDeps;
  readonly #settings: SyslogTlsSettings;
  #open: OpenConnection | null = null;

  constructor(deps: SyslogTlsDeps, settings: SyslogTlsSettings) {
    this.#deps = deps;
    this.#settings = settings;
  }

  async send(records: readonly EcsRecord[]): Promise<readonly string[]> {
    this.#open ??= await openConnection(this.#deps, this.#settings);
    const { format, facility } = this.#settings;
    const limits = { format, facility, maxOctets: MAX_STREAM_OCTETS };
    const frames = records.map((fields) => frameSyslog(encodeSyslog(fields, limits)));
    for (const chunk of chunksOf(frames, MAX_CHUNK_OCTETS)) await this.#open.write(chunk);
    return [];
  }

  async confirm(): Promise<void> {
    const open = this.#open;
    if (open === null) return;
    this.#open = null;
    try {
      if (await open.finish()) return;
    } finally {
      open.close();
    }
    // The receiver keeps its side open, against the standard. A new connection shows that it is there.
    const again = await openConnection(this.#deps, this.#settings).catch(() => null);
    again?.close();
    if (again === null) {
      throw new ChannelFault(
        "not_confirmed",
        "the receiver did not close the connection, and does not accept a new one",
      );
    }
  }

  close(): void {
    this.#open?.close();
    this.#open = null;
  }
}

async function openConnection(
  { connect, clock }: SyslogTlsDeps,
  { host: hostname, port, ca, certificate, privateKey }: SyslogTlsSettings,
): Promise<OpenConnection> {
  let isLate = false;
  const connecting = connect({
    ...{ hostname, port },
    ...ca === "" ? {} : { caCerts: [ca] },
    ...certificate === "" ? {} : { cert: certificate, key: privateKey },
  }).then(async (connection) => {
    try {
      if (isLate) throw new Error("too late");
      await connection.handshake();
      return connection;
    } catch (fault) {
      connection.close();
      throw fault;
    }
  });
  connecting.catch(() => undefined);
  try {
    const timed = await withTimeout(connecting, { clock, timeoutMs: CONNECT_MS });
    if (timed.inTime) return new OpenConnection(timed.value, clock);
  } catch (fault) {
    throw connectFault(fault);
  }
  isLate = true;
  connecting.then((connection) => connection.close(), () => undefined);
  throw new ChannelFault("timeout", "no connection in time");
}

/** The first row whose `text` is part of the platform's message (Deno 2.9.6) applies. */
const CONNECT_FAULTS: readonly { readonly text: RegExp; readonly code: ChannelProblem }[] = [
  { text: /lookup address|dns error|name or service/i, code: "name_not_found" },
  { text: /certificate|tls|handshake|alert|pem|private key|invalid peer/i, code: "certificate" },
  { text: /refused|unreachable|no route/i, code: "unreachable" },
  { text: /reset|broken pipe|unexpected ?eof|closed/i, code: "connection_lost" },
];

function connectFault(fault: unknown): ChannelFault {
  const message = fault instanceof Error ? fault.message : String(fault);
  const code = CONNECT_FAULTS.find(({ text }) => text.test(message))?.code ?? "unreachable";
  return new ChannelFault(code, sanitizeDetail(message, { secrets: [], maxCharacters: 200 }));
}

class OpenConnection {
  readonly #connection: TlsConnection;
  readonly #clock: Clock;
  /** Resolves when the receiver ends the connection. */
  readonly #ended: Promise<ConnectionEnd>;
  #end: ConnectionEnd | null = null;
  #isClosed = false;

  constructor(connection: TlsConnection, clock: Clock) {
    this.#connection = connection;
    this.#clock = clock;
    this.#ended = this.#readToEnd().then((end) => this.#end = end);
  }

  /** Writes all octets. */
  async write(octets: Uint8Array): Promise<void> {
    for (let at = 0; at < octets.length;) {
      if (this.#end !== null) throw lostConnection();
      const writing = this.#connection.write(octets.subarray(at)).catch(() => {
        throw lostConnection();
      });
      writing.catch(() => undefined);
      const timed = await withTimeout(writing, { clock: this.#clock, timeoutMs: WRITE_MS });
      if (!timed.inTime) throw new ChannelFault("slow", "the receiver does not read");
      at += timed.value;
    }
  }

  /** Closes this side. Returns whether the receiver then closed its side. */
  async finish(): Promise<boolean> {
    const quiet = await withTimeout(this.#ended, { clock: this.#clock, timeoutMs: QUIET_MS });
    if (quiet.inTime) throw lostConnection();
    try {
      const closing = withTimeout(this.#connection.closeWrite(), { clock: this.#clock, timeoutMs: CLOSE_MS });
      if (!(await closing).inTime) throw lostConnection();
    } catch (_ended) {
      throw lostConnection();
    }
    const answer = await withTimeout(this.#ended, { clock: this.#clock, timeoutMs: CLOSE_MS });
    if (answer.inTime && answer.value === "reset") throw lostConnection();
    return answer.inTime;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    try {
      this.#connection.close();
    } catch (_closed) {
      // The receiver closed it.
    }
  }

  /** A receiver sends nothing. What it sends is ignored. */
  async #readToEnd(): Promise<ConnectionEnd> {
    const ignored = new Uint8Array(1024);
    try {
      while (await this.#connection.read(ignored) !== null);
      return "closed";
    } catch (fault) {
      // Some receivers end the connection without close_notify. With unread data, their kernel sends a reset instead.
      return fault instanceof Deno.errors.UnexpectedEof ? "closed" : "reset";
    }
  }
}

function lostConnection(): ChannelFault {
  return new ChannelFault("connection_lost", "the receiver ended the connection");
}

/** The frames together, so that they share records of TLS. */
function* chunksOf(frames: readonly Uint8Array[], maxOctets: number): Generator<Uint8Array> {
  let first = 0;
  let length = 0;
  for (const [at, frame] of frames.entries()) {
    if (length > 0 && length + frame.length > maxOctets) {
      yield joined(frames.slice(first, at), length);
      [first, length] = [at, 0];
    }
    length += frame.length;
  }
  if (length > 0) yield joined(frames.slice(first), length);
}

function joined(frames: readonly Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const frame of frames) {
    whole.set(frame, at);
    at += frame.length;
  }
  return whole;
}
