// Syslog: a record as a message (RFC 5424), its frame in a stream (RFC 5425 §4.3: octet counting), and the channels over TLS (RFC 5425) and UDP
// (RFC 5426).

import type { CallProblem } from "../call_fault.ts";
import { sanitizeDetail } from "../control_characters.ts";
import { type Clock, pauseFor, withTimeout } from "../runtime.ts";
import type { SyslogFormat } from "./destination_choices.ts";
import { type EcsRecord, nestFields } from "./ecs_fields.ts";
import { ChannelFault, type LogChannel } from "./log_channel.ts";

interface SyslogOptions {
  readonly format: SyslogFormat;
  /** RFC 5424 §6.2.1, table 1: 0 to 23. */
  readonly facility: number;
  /** The longest message, without its frame. */
  readonly maxOctets: number;
}

/** RFC 5424 §6.1: 8192 octets is what common receivers accept; a receiver SHOULD accept 2048. */
const MAX_STREAM_OCTETS = 8192;
/** RFC 5426 §3.2: receivers SHOULD accept 2048 octets. */
const MAX_DATAGRAM_OCTETS = 2048;
/** RFC 5424 §6.2.1, table 2. */
const SEVERITIES = { alert: 1, warning: 4, notice: 5, informational: 6 } as const;
/** RFC 5424 §6.2: lengths of the fields of the header. */
const MAX_HOST_CHARACTERS = 255;
const MAX_MSGID_CHARACTERS = 32;
const MAX_PARAM_NAME_CHARACTERS = 32;
/** RFC 5612: the enterprise number for examples. Countersign has none of its own. */
const ELEMENT = "ecs@32473";
/** Fields that a message loses first if it is too long. */
const DISPENSABLE = [
  "countersign.before",
  "countersign.after",
  "countersign.details",
  "related.user",
  "related.ip",
  "countersign.object",
  "message",
];

/** Marks a record that is not complete. */
const TRUNCATED = "countersign.truncated";
/** Shorter texts, such as times and codes, are not shortened. */
const MIN_TEXT_CHARACTERS = 40;

const utf8 = new TextEncoder();

/** One message without a frame, of at most `maxOctets`. A message that is too long loses fields, then ends of texts, and stays well-formed. */
export function encodeSyslog(fields: EcsRecord, options: SyslogOptions): Uint8Array<ArrayBuffer> {
  let octets = utf8.encode(textOf(fields, options));
  for (const shorter of shorterRecords(fields)) {
    if (octets.length <= options.maxOctets) return octets;
    octets = utf8.encode(textOf(shorter, options));
  }
  return octets.length <= options.maxOctets ? octets : wholeCharacters(octets.slice(0, options.maxOctets));
}

/** Each is shorter than the one before: without a dispensable field, and then with half of its longest text. */
function* shorterRecords(fields: EcsRecord): Generator<EcsRecord> {
  let shown: EcsRecord = { ...fields, [TRUNCATED]: true };
  for (const name of DISPENSABLE) {
    const { [name]: _dropped, ...others } = shown;
    yield shown = others;
  }
  for (;;) {
    const [longest, text] = Object.entries(shown).reduce<readonly [string, string]>(
      (found, [name, value]) =>
        typeof value === "string" && value.length > found[1].length ? [name, value] : found,
      ["", ""],
    );
    if (text.length <= MIN_TEXT_CHARACTERS) return;
    yield shown = { ...shown, [longest]: `${text.slice(0, text.length >> 1).toWellFormed()}…` };
  }
}

/** A record without its dispensable fields, for a receiver that refuses it because of its size. */
export function shortenRecord(fields: EcsRecord): EcsRecord {
  const names = new Set(DISPENSABLE);
  return {
    ...Object.fromEntries(Object.entries(fields).filter(([name]) => !names.has(name))),
    [TRUNCATED]: true,
  };
}

/** `MSG-LEN SP SYSLOG-MSG` (RFC 5425 §4.3.1). */
export function frameSyslog(message: Uint8Array): Uint8Array<ArrayBuffer> {
  const length = utf8.encode(`${message.length} `);
  const frame = new Uint8Array(length.length + message.length);
  frame.set(length);
  frame.set(message, length.length);
  return frame;
}

function textOf(fields: EcsRecord, { format, facility }: SyslogOptions): string {
  const priority = facility * 8 + severityOf(fields);
  const host = printable(String(fields["observer.hostname"] ?? ""), MAX_HOST_CHARACTERS);
  const messageId = printable(String(fields["event.action"] ?? ""), MAX_MSGID_CHARACTERS);
  const header = `<${priority}>1 ${fields["@timestamp"]} ${host} countersign - ${messageId}`;
  const version = escapeParam(String(fields["observer.version"] ?? ""));
  const origin = `[origin software="Countersign" swVersion="${version}"]`;
  if (format === "json") return `${header} ${origin} ${asciiJson(nestFields(fields))}`;
  return `${header} ${origin}${elementOf(fields)} ${markedText(oneLine(String(fields.message ?? "")))}`;
}

/**
 * JSON in US-ASCII. RFC 5424 §6.4 wants a byte order mark before a message in UTF-8, and JSON must not begin with one (RFC 8259 §8.1). It also
 * leaves no control character to a receiver: JSON permits U+007F to U+009F, and U+0085 ends a line for some.
 */
function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** RFC 5424 §6.4: a message in UTF-8 begins with the byte order mark; one in US-ASCII needs none. */
function markedText(text: string): string {
  return /^[\x20-\x7e]*$/.test(text) ? text : `\ufeff${text}`;
}

function elementOf(fields: EcsRecord): string {
  const params = Object.entries(fields).flatMap(([name, value]) => {
    const values = Array.isArray(value) ? value as readonly string[] : [String(value)];
    if (name === "message" || name === "@timestamp" || name.length > MAX_PARAM_NAME_CHARACTERS) return [];
    return values.map((one) => ` ${name}="${escapeParam(one)}"`);
  });
  return `[${ELEMENT}${params.join("")}]`;
}

function severityOf(fields: EcsRecord): number {
  if (fields["event.kind"] === "alert") return SEVERITIES.alert;
  if (fields["event.outcome"] === "failure") return SEVERITIES.warning;
  return fields["event.dataset"] === "countersign.audit" ? SEVERITIES.notice : SEVERITIES.informational;
}

/** PRINTUSASCII (RFC 5424 §6), or the NILVALUE. */
function printable(text: string, maxCharacters: number): string {
  return text.replace(/[^\x21-\x7e]/g, "").slice(0, maxCharacters) || "-";
}

/** RFC 5424 §6.3.3: `"`, `\` and `]` are escaped. Control characters would end a line of the receiver's file. */
function escapeParam(text: string): string {
  return oneLine(text).replace(/["\\\]]/g, (character) => `\\${character}`);
}

function oneLine(text: string): string {
  return text.replace(/\p{Cc}/gu, " ");
}

/** Without the octets of a character that was cut. */
function wholeCharacters(octets: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  let end = octets.length;
  // A continuation octet is 10xxxxxx (RFC 3629 §3).
  while (end > 0 && ((octets[end - 1] ?? 0) & 0xc0) === 0x80) end--;
  const lead = octets[end - 1] ?? 0;
  return lead >= 0x80 ? octets.slice(0, end - 1) : octets;
}

interface SyslogTlsSettings {
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

interface SyslogTlsDeps {
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

/**
 * Syslog over TLS. The protocol has no acknowledgement, so the end of the connection is used as one: after a moment without an end by the receiver, the
 * sender closes its side (close_notify), and the receiver answers with the end of its side, which RFC 5425 §4.4 requires. If the receiver closed first,
 * or reset the connection, everything since the connection began is sent again (docs/adr/0019).
 */
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
const CONNECT_FAULTS: readonly { readonly text: RegExp; readonly code: CallProblem }[] = [
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

interface SyslogUdpSettings {
  readonly host: string;
  readonly port: number;
  readonly format: SyslogFormat;
  readonly facility: number;
}

/** The part of `Deno.DatagramConn` that is used. */
export interface DatagramSender {
  send(octets: Uint8Array, to: Deno.NetAddr): Promise<number>;
  close(): void;
}

interface SyslogUdpDeps {
  readonly open: (isIpv6: boolean) => DatagramSender;
  readonly clock: Pick<Clock, "after">;
}

/** A backlog is sent slowly, because a receiver drops what its buffer has no room for (RFC 5426 §4.3). */
const BURST_DATAGRAMS = 10;
const BURST_PAUSE_MS = 3;

/** Syslog over UDP: one message per datagram. Nothing shows whether it arrived, so what was sent counts as delivered. */
export class SyslogUdpChannel implements LogChannel {
  readonly confirmAfterMs = 0;
  readonly #deps: SyslogUdpDeps;
  readonly #settings: SyslogUdpSettings;
  #sender: DatagramSender | null = null;

  constructor(deps: SyslogUdpDeps, settings: SyslogUdpSettings) {
    this.#deps = deps;
    this.#settings = settings;
  }

  async send(records: readonly EcsRecord[]): Promise<readonly string[]> {
    const { host: hostname, port, format, facility } = this.#settings;
    const { open, clock } = this.#deps;
    try {
      this.#sender ??= open(hostname.includes(":"));
      for (const [at, fields] of records.entries()) {
        if (at % BURST_DATAGRAMS === BURST_DATAGRAMS - 1) {
          await pauseFor(clock, BURST_PAUSE_MS);
        }
        const message = encodeSyslog(fields, { format, facility, maxOctets: MAX_DATAGRAM_OCTETS });
        await this.#sender.send(message, { transport: "udp", hostname, port });
      }
      return [];
    } catch (fault) {
      this.close();
      const isUnknown = fault instanceof Error && /lookup|name or service/i.test(fault.message);
      throw new ChannelFault(isUnknown ? "name_not_found" : "unreachable", "the datagram could not be sent");
    }
  }

  confirm(): Promise<void> {
    return Promise.resolve();
  }

  close(): void {
    this.#sender?.close();
    this.#sender = null;
  }
}
