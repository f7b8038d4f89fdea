// A destination of the log export: its settings, their bounds and checks, and how it is stored. Secrets are sealed, and never shown again.

import { X509Certificate } from "node:crypto";
import { type SealedKind, type SealedRecord, SealedRows, type SealedRowsDeps } from "../sealed_rows.ts";
import {
  type ChannelProblem,
  DESTINATION_DEFAULTS,
  DESTINATION_KINDS,
  type DestinationSettings,
  MAX_DESTINATIONS,
  MAX_FACILITY,
  MAX_HOURS,
  MAX_RECORDS,
  MIN_RECORDS,
  RECORD_KINDS,
  type RecordKind,
  SYSLOG_FORMATS,
  WEBHOOK_FORMATS,
} from "./destination_choices.ts";
import { type ExportPosition, type NodeMark, positionAt } from "./record_reader.ts";
import { webhookUrlProblem } from "./webhook_sender.ts";

/** Secrets of a destination; "": none. */
export interface DestinationSecrets {
  /** The key of the client certificate (PEM). */
  readonly privateKey: string;
  /** The value of the Authorization header. */
  readonly authorization: string;
  /** The key of the signatures of webhooks. */
  readonly webhookSecret: string;
}

/** The value under ["log_export", name]. */
export type DestinationRecord = SealedRecord<DestinationSettings>;

/** The value under ["log_export_cursor", name]: how far the destination has the log, and what happened. */
export interface DestinationCursor {
  readonly position: ExportPosition;
  readonly sent: number;
  readonly skipped: number;
  readonly lastSentMs: number | null;
  readonly problem:
    | { readonly code: ChannelProblem; readonly detail: string; readonly sinceMs: number }
    | null;
  /** Records that wait, counted up to a position. */
  readonly backlog: {
    readonly count: number;
    readonly position: ExportPosition;
    readonly oldestMs: number | null;
  };
}

export const NO_SECRETS: DestinationSecrets = { privateKey: "", authorization: "", webhookSecret: "" };
const MAX_PEM_CHARACTERS = 32_000;
const MAX_AUTHORIZATION_CHARACTERS = 2000;
const MAX_HOST_CHARACTERS = 253;

/** The key of the position of a destination. */
export function cursorKey(name: string): Deno.KvKey {
  return ["log_export_cursor", name];
}

/** The fields that a problem can be in. */
export type DestinationField =
  | Exclude<keyof DestinationSettings, "isPaused">
  | Exclude<keyof DestinationSecrets, "webhookSecret">;

/** The first field that cannot be used; `null`: all can. */
export function destinationProblem(
  settings: DestinationSettings,
  { privateKey, authorization }: DestinationSecrets,
): DestinationField | null {
  const { kind, records, maxHours, maxRecords, ca, certificate } = settings;
  const isWebhook = kind === "webhook";
  if (!DESTINATION_KINDS.includes(kind)) return "kind";
  if (isWebhook) {
    const problem = webhookUrlProblem(settings.url, settings);
    if (problem !== null) return problem === "bad_url" ? "url" : "allowsHttp";
    if (!isMember(WEBHOOK_FORMATS, settings.format)) return "format";
  } else {
    if (!isHost(settings.host)) return "host";
    if (!isWhole(settings.port, 1, 65_535)) return "port";
    if (!isMember(SYSLOG_FORMATS, settings.format)) return "format";
    if (!isWhole(settings.facility, 0, MAX_FACILITY)) return "facility";
  }
  if (records.length === 0 || records.some((kind) => !RECORD_KINDS.includes(kind))) return "records";
  if (!isWhole(maxHours, 1, MAX_HOURS)) return "maxHours";
  if (!isWhole(maxRecords, MIN_RECORDS, MAX_RECORDS)) return "maxRecords";
  if (ca !== "" && !isCertificate(ca)) return "ca";
  if (certificate !== "" && !isCertificate(certificate)) return "certificate";
  if (certificate !== "" && !/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(privateKey)) return "privateKey";
  if (privateKey.length > MAX_PEM_CHARACTERS) return "privateKey";
  return authorization.length > MAX_AUTHORIZATION_CHARACTERS || /[^\x20-\x7e]/.test(authorization)
    ? "authorization"
    : null;
}

/** Long parts of a path are tokens in the URLs of many services. */
const TOKEN_IN_PATH = /[^/]{20,}/g;

/** Where a destination sends, for the list and the audit log. A query may contain a token, so it is left out, and so are long parts of the path. */
export function addressOf({ kind, url, host, port }: DestinationSettings): string {
  if (kind !== "webhook") return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
  const parsed = URL.parse(url);
  return parsed === null ? "" : parsed.origin + parsed.pathname.replace(TOKEN_IN_PATH, "…");
}

function isHost(text: string): boolean {
  return text.length <= MAX_HOST_CHARACTERS &&
    /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?|[0-9a-f:.]*:[0-9a-f:.]*)$/.test(text);
}

function isWhole(value: number, from: number, to: number): boolean {
  return Number.isInteger(value) && value >= from && value <= to;
}

function isMember(list: readonly string[], text: string): boolean {
  return list.includes(text);
}

function isCertificate(pem: string): boolean {
  if (pem.length > MAX_PEM_CHARACTERS) return false;
  try {
    new X509Certificate(pem);
    return true;
  } catch (_notPem) {
    return false;
  }
}

/** The destinations of the log export in the store. */
const DESTINATION_ROWS: SealedKind<DestinationSettings, DestinationSecrets> = {
  prefix: ["log_export"],
  object: "log-export",
  maxRows: MAX_DESTINATIONS,
  noSecrets: NO_SECRETS,
  read(settings) {
    const known = { ...DESTINATION_DEFAULTS, ...settings };
    const isKnown = DESTINATION_KINDS.includes(known.kind) && Array.isArray(known.records) &&
      [known.url, known.host, known.ca, known.certificate].every((text) => typeof text === "string");
    if (!isKnown) throw new TypeError("Cannot read a destination of the log export");
    return known;
  },
  dependents: (name) => [cursorKey(name)],
  actions: { create: "log_export.create", secret: "log_export.secret", remove: "log_export.remove" },
  shown(settings) {
    const { ca, certificate, url: _url, host: _host, port: _port, ...others } = settings;
    return { ...others, address: addressOf(settings), ca: ca !== "", certificate: certificate !== "" };
  },
};

interface DestinationStoreDeps extends SealedRowsDeps {
  readonly marks: () => readonly NodeMark[];
}

/** The destinations in the store, each with its position. */
export class DestinationStore extends SealedRows<DestinationSettings, DestinationSecrets> {
  readonly #deps: DestinationStoreDeps;

  constructor(deps: DestinationStoreDeps) {
    super(deps, DESTINATION_ROWS);
    this.#deps = deps;
  }

  /** Whether any destination wants records of a kind. */
  wants(kind: RecordKind): boolean {
    return this.all.values().some(({ settings }) => settings.records.includes(kind));
  }

  async cursorOf(name: string): Promise<DestinationCursor | null> {
    return (await this.#deps.store.get<DestinationCursor>(cursorKey(name))).value;
  }

  /** The position of a new destination that receives the records from `fromMs` on; part of its commit. */
  firstPosition(name: string, fromMs: number): { type: "set"; key: Deno.KvKey; value: DestinationCursor } {
    const { clock, marks } = this.#deps;
    const position = positionAt(Math.min(fromMs, clock.nowMs()), marks());
    const value: DestinationCursor = {
      ...{ position, sent: 0, skipped: 0, lastSentMs: null, problem: null },
      backlog: { count: 0, position, oldestMs: null },
    };
    return { type: "set", key: cursorKey(name), value };
  }

  /** Removes a position that a delivery wrote while its destination was removed. */
  async removeCursor(name: string): Promise<void> {
    await this.#deps.store.commit({
      checks: [{ key: [...DESTINATION_ROWS.prefix, name], versionstamp: null }],
      mutations: [{ type: "delete", key: cursorKey(name) }],
    });
  }
}
