// The rules of a RADIUS client as a form: what was typed as the API takes it, what differs, and two editors' changes put together.

import type { ClientRow } from "../../api/connect/client_shapes.ts";
import type { ClientForm } from "./connect_calls.ts";

/** What the form holds while it is typed. */
export interface ClientDraft
  extends Omit<Required<ClientForm>, "address" | "firstFactorServer" | "stripDomains" | "stripRealms"> {
  /** One address or range a line. */
  readonly addressText: string;
  /** `host:port` of another RADIUS server. */
  readonly serverText: string;
  readonly serverTimeoutMs: number;
  /** Whether that server must sign its answers. */
  readonly serverSignature: "require" | "auto";
  /** Domains and realms to remove from User-Name, separated by blanks or commas. */
  readonly domainsText: string;
  readonly realmsText: string;
  /** "" keeps the one that is kept. It is never in what the server answers. */
  readonly serverSecret: string;
}

/** What of a draft can be told from what is saved. */
export type ClientField = Exclude<keyof ClientDraft, "serverSecret">;

export const CLIENT_FIELDS: readonly ClientField[] = [
  "addressText",
  "nasIdentifier",
  "messageAuthenticator",
  "firstFactor",
  "firstFactorBackend",
  "serverText",
  "serverTimeoutMs",
  "serverSignature",
  "device",
  "unknownUsers",
  "domainsText",
  "realmsText",
  "appendMode",
  "appendSeparator",
  "disabled",
];

export const NEW_DRAFT: ClientDraft = {
  addressText: "",
  nasIdentifier: "",
  disabled: false,
  messageAuthenticator: "auto",
  firstFactor: "settings",
  firstFactorBackend: "",
  serverText: "",
  serverTimeoutMs: 3000,
  serverSignature: "require",
  serverSecret: "",
  device: "challenge",
  appendMode: false,
  appendSeparator: ",",
  unknownUsers: "auto",
  domainsText: "",
  realmsText: "",
};

export function draftOf(client: ClientRow): ClientDraft {
  const { firstFactorServer: server } = client;
  return {
    addressText: client.address.join("\n"),
    nasIdentifier: client.nasIdentifier,
    disabled: client.disabled,
    messageAuthenticator: client.messageAuthenticator,
    firstFactor: client.firstFactor,
    firstFactorBackend: client.firstFactorBackend,
    serverText: server === null ? "" : serverTextOf(server.address),
    serverTimeoutMs: server?.timeoutMs ?? NEW_DRAFT.serverTimeoutMs,
    serverSignature: server?.messageAuthenticator ?? NEW_DRAFT.serverSignature,
    serverSecret: "",
    device: client.device,
    appendMode: client.appendMode,
    appendSeparator: client.appendSeparator,
    unknownUsers: client.unknownUsers,
    domainsText: client.stripDomains.join(" "),
    realmsText: client.stripRealms.join(" "),
  };
}

function serverTextOf({ hostname, port }: { hostname: string; port: number }): string {
  return hostname.includes(":") ? `[${hostname}]:${port}` : `${hostname}:${port}`;
}

const wordsOf = (text: string): string[] => text.split(/[\s,]+/).filter((one) => one !== "");

/** What the API takes. What another first factor would need is left out. */
export function formOf(draft: ClientDraft): ClientForm {
  const { addressText, serverText, serverTimeoutMs, serverSignature, serverSecret, ...others } = draft;
  const { firstFactorBackend, domainsText, realmsText, ...rest } = others;
  const server = {
    address: serverText.trim(),
    timeoutMs: serverTimeoutMs,
    messageAuthenticator: serverSignature,
    ...(serverSecret === "" ? {} : { secret: serverSecret }),
  };
  return {
    ...rest,
    address: wordsOf(addressText),
    // Left empty, the usual separator is meant.
    appendSeparator: rest.appendSeparator.trim() || NEW_DRAFT.appendSeparator,
    stripDomains: wordsOf(domainsText),
    stripRealms: wordsOf(realmsText),
    firstFactorBackend: rest.firstFactor === "ldap" ? firstFactorBackend : "",
    firstFactorServer: rest.firstFactor === "radius" ? server : null,
  };
}

/** The fields that differ between two drafts, in the order of the form. */
export function changedFields(a: ClientDraft, b: ClientDraft): ClientField[] {
  return CLIENT_FIELDS.filter((field) => keyOf(a, field) !== keyOf(b, field));
}

/** How a value is compared: spaces between addresses say nothing, nor does what another first factor would need. */
function keyOf(draft: ClientDraft, field: ClientField): string {
  if (field === "addressText") return formOf(draft).address.join(" ");
  if (field === "firstFactorBackend") return formOf(draft).firstFactorBackend;
  if (field === "domainsText" || field === "realmsText") return wordsOf(draft[field]).join(" ");
  if (field === "appendSeparator") return draft.appendMode ? formOf(draft).appendSeparator ?? "" : "";
  const isOfServer = field === "serverText" || field === "serverTimeoutMs" || field === "serverSignature";
  if (isOfServer && draft.firstFactor !== "radius") return "";
  return String(draft[field]);
}

/** Theirs, with what I changed on top. */
export function mergeDrafts(
  { base, mine, theirs }: { base: ClientDraft; mine: ClientDraft; theirs: ClientDraft },
): ClientDraft {
  const own = changedFields(base, mine).map((field) => [field, mine[field]] as const);
  return { ...theirs, serverSecret: mine.serverSecret, ...Object.fromEntries(own) };
}
