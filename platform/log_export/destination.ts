// The destinations of the log export: the checks of their fields, and how they are stored, each with its position in the log. Secrets are sealed, and
// never shown again.

import { X509Certificate } from "node:crypto";
import type { CallProblem } from "../call_fault.ts";
import type { FieldChecks } from "../fields.ts";
import { type SealedKind, type SealedRecord, SealedRows, type SealedRowsDeps } from "../sealed_rows.ts";
import {
  DESTINATION_FIELDS,
  DESTINATION_KINDS,
  type DestinationSettings,
  MAX_DESTINATIONS,
  type RecordKind,
} from "./destination_choices.ts";
import { type ExportPosition, type NodeMark, positionAt } from "./record_reader.ts";
import { webhookUrlProblem } from "./webhook_sender.ts";

/** The value under ["log_export", name]. */
export type DestinationRecord = SealedRecord<DestinationSettings>;

/** The value under ["log_export_cursor", name]: how far the destination has the log, and what happened. */
export interface DestinationCursor {
  readonly position: ExportPosition;
  readonly sent: number;
  readonly skipped: number;
  readonly lastSentMs: number | null;
  readonly problem:
    | { readonly code: CallProblem; readonly detail: string; readonly sinceMs: number }
    | null;
  /** Records that wait, counted up to a position. */
  readonly backlog: {
    readonly count: number;
    readonly position: ExportPosition;
    readonly oldestMs: number | null;
  };
}

/** The key of the position of a destination. */
export function cursorKey(name: string): Deno.KvKey {
  return ["log_export_cursor", name];
}

const HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?|[0-9a-f:.]*:[0-9a-f:.]*)$/;

/** Checks of the fields beyond their bounds. */
export const DESTINATION_CHECKS: FieldChecks<typeof DESTINATION_FIELDS> = {
  url: (url) => webhookUrlProblem(url, { allowsHttp: true }) === null,
  allowsHttp: (allowsHttp, { url }) => webhookUrlProblem(url, { allowsHttp }) === null,
  host: (host) => HOST.test(host),
  authorization: (value) => !/[^\x20-\x7e]/.test(value),
  ca: (pem) => pem === "" || isCertificate(pem),
  certificate: (pem) => pem === "" || isCertificate(pem),
  privateKey: (pem, { certificate }) => certificate === "" || /-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(pem),
};

/** Long parts of a path are tokens in the URLs of many services. */
const TOKEN_IN_PATH = /[^/]{20,}/g;

/** Where a destination sends, for the list and the audit log. A query may contain a token, so it is left out, and so are long parts of the path. */
export function addressOf({ kind, url, host, port }: DestinationSettings): string {
  if (!DESTINATION_KINDS[kind].hasUrl) return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
  const parsed = URL.parse(url);
  return parsed === null ? "" : parsed.origin + parsed.pathname.replace(TOKEN_IN_PATH, "…");
}

function isCertificate(pem: string): boolean {
  try {
    new X509Certificate(pem);
    return true;
  } catch (_notPem) {
    return false;
  }
}

/** The destinations of the log export in the store. */
const DESTINATION_ROWS: SealedKind<typeof DESTINATION_FIELDS> = {
  prefix: ["log_export"],
  object: "log-export",
  maxRows: MAX_DESTINATIONS,
  fields: DESTINATION_FIELDS,
  isSigned: ({ kind }) => DESTINATION_KINDS[kind].isSigned,
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
export class DestinationStore extends SealedRows<typeof DESTINATION_FIELDS> {
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
