// The form of a RADIUS client, by the rows of platform/client_settings.ts: drafts, requests, differences, the merge of two
// concurrent changes, and the calls. A call that changes a client waits for a sign-in or a recent factor.

import {
  type ClientContent,
  clientSetting,
  CONSOLE_SETTINGS,
  type ConsoleSetting,
  type ConsoleValue,
  initialValue,
  isOfTransport,
  isSettingUsed,
  settingOf,
  settingsObject,
  type Transport,
  transportOf,
} from "../../../../platform/client_settings.ts";
import { type SocketAddress, socketAddressText } from "../../../../platform/addresses.ts";
import type { ClientGateway, ClientRow, DiscoveredSender } from "../../../api/clients/client_types.ts";
import type { FieldRow } from "../../components/form_fields.tsx";
import type { MessageKey } from "../../i18n/catalogue.ts";
import { findMessage, t } from "../../i18n/translate.ts";
import { escapeParams, take } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";

/** Lists with one entry on each line. */
const LINE_FORMATS: ReadonlySet<string> = new Set(["peers", "ranges"]);

/** The values of the form. Addresses and lists are text. An empty secret keeps the stored one. */
export type ClientDraft =
  & {
    readonly [K in ConsoleSetting]: ConsoleValue<K> extends string | number | boolean ? ConsoleValue<K>
      : string;
  }
  & { readonly transport: Transport };

const isForEdit = (name: ConsoleSetting) => clientSetting(name).console?.isForEdit === true;

/** The fields that only the form of an existing client has. */
export const EDIT_FIELDS: readonly ConsoleSetting[] = CONSOLE_SETTINGS.filter(isForEdit);
/** In the order of the form. */
export const CLIENT_FIELDS: readonly ConsoleSetting[] = [
  ...CONSOLE_SETTINGS.filter((name) => !isForEdit(name)),
  ...EDIT_FIELDS,
];

export const NEW_CLIENT_DRAFT: ClientDraft = draftWith(initialValue);

export function toClientDraft(client: ClientRow): ClientDraft {
  return draftWith((name) =>
    clientSetting(name).type === "secret" ? "" : settingOf(client, name) ?? NEW_CLIENT_DRAFT[name]
  );
}

function draftWith(valueOf: (name: ConsoleSetting) => unknown): ClientDraft {
  const fields = CONSOLE_SETTINGS.map((name) => [name, fieldValue(name, valueOf(name))]);
  const draft = Object.fromEntries(fields) as Omit<ClientDraft, "transport">;
  return { ...draft, transport: transportOf(draft) };
}

/** Whether the form has a time in seconds, empty for the value of `[radius]`. */
function isTyped(name: ConsoleSetting): boolean {
  const { console, ...row } = clientSetting(name);
  return row.type === "number" && row.unit === "s" && console?.choices === undefined;
}

function fieldValue(name: ConsoleSetting, value: unknown): unknown {
  if (isTyped(name)) return value === 0 ? "" : String(Number(value) / 1000);
  if (!Array.isArray(value)) return value;
  const { format = "" } = clientSetting(name);
  const texts = format === "peers" ? value.map((one: SocketAddress) => socketAddressText(one)) : value;
  return texts.join(LINE_FORMATS.has(format) ? "\n" : " ");
}

const wordsOf = (text: string): string[] => text.split(/[\s,]+/).filter((one) => one !== "");

/** How a client lets its users sign in, and the settings that it needs. The settings of `relay` are those of every client that cannot send PAP. */
const SIGN_IN_METHODS = {
  relay: { firstFactor: "radius", eap: "relay", device: "hold" },
  gtc: { eap: "gtc", device: "challenge" },
  pap: { eap: "auto", device: "challenge" },
  pap_hold: { eap: "auto", device: "hold" },
} as const satisfies Readonly<Record<string, Partial<ClientDraft>>>;

type SignInMethod = keyof typeof SIGN_IN_METHODS;

export const SIGN_IN_METHOD_NAMES = Object.keys(SIGN_IN_METHODS) as SignInMethod[];

/** The method whose settings a draft has; `null` for any other settings. */
export function findSignInMethod(draft: ClientDraft): SignInMethod | null {
  return SIGN_IN_METHOD_NAMES.find((name) =>
    Object.entries(SIGN_IN_METHODS[name]).every(([setting, value]) =>
      draft[setting as ConsoleSetting] === value
    )
  ) ?? null;
}

/** The draft with the settings of a method. */
export function withSignInMethod(draft: ClientDraft, name: SignInMethod): ClientDraft {
  return { ...draft, ...SIGN_IN_METHODS[name] };
}

/**
 * The draft for a device that was heard. With PAP, its packet does not tell whether it shows prompts, so the draft stays as it is.
 *
 * @param sender its method is that of `authMethodOf()`
 */
export function withHeardMethod(
  draft: ClientDraft,
  { method }: Pick<DiscoveredSender, "method">,
): ClientDraft {
  return method === "PAP" || method === ""
    ? draft
    : withSignInMethod(draft, method === "EAP-GTC" ? "gtc" : "relay");
}

/** The draft for a device that was heard, with its address or its certificate. */
export function withHeard(draft: ClientDraft, sender: DiscoveredSender): ClientDraft {
  const { source, nasIdentifier, client, certificate } = sender;
  if (certificate === null) {
    const known = { transport: "udp", address: source, tlsSan: "", tlsFingerprint: "" } as const;
    // A NAS-Identifier drops every packet with another one, such as a test from the same host. It is needed where clients share an address.
    return {
      ...withHeardMethod(draft, sender),
      ...known,
      nasIdentifier: client === null ? "" : nasIdentifier,
    };
  }
  const { san: tlsSan, fingerprint } = certificate;
  return {
    ...draft,
    ...{ transport: "tls", address: "", nasIdentifier: "", tlsSan },
    tlsFingerprint: tlsSan === "" ? fingerprint : "",
  };
}

const SHOWN_DIGITS = 16;

/** What a client is known by, as one text. */
export function placeText(
  { address, tlsSan, tlsFingerprint }: Pick<ClientContent, "address" | "tlsSan" | "tlsFingerprint">,
): string {
  const short = tlsFingerprint === "" ? "" : `SHA-256 ${tlsFingerprint.slice(0, SHOWN_DIGITS)}…`;
  const certificate = [tlsSan, short].filter((text) => text !== "").join(" ");
  return [...certificate === "" ? [] : [`TLS: ${certificate}`], ...address].join(", ");
}

/** The request body, without the settings of another first factor or transport. */
export function toClientRequest(draft: ClientDraft): ClientForm {
  return settingsObject(CONSOLE_SETTINGS, (name) => {
    const { when, console } = clientSetting(name);
    const isOfOther = when?.["firstFactor"] !== undefined || console?.transport !== undefined;
    if (!isOfOther || isFieldUsed(draft, name)) return requestValue(draft, name);
    return name.includes(".") ? undefined : requestValue(NEW_CLIENT_DRAFT, name);
  }) as unknown as ClientForm;
}

/** Whether a field has an effect, given the others. */
export const isFieldUsed = (draft: ClientDraft, name: ConsoleSetting) =>
  isOfTransport(name, draft.transport) && isSettingUsed(name, (other) => settingOf(draft, other));

function requestValue(draft: ClientDraft, name: ConsoleSetting): unknown {
  const { type, format } = clientSetting(name);
  const value = draft[name];
  if (type === "list") return wordsOf(String(value));
  if (type === "number") return Number(String(value).trim()) * (isTyped(name) ? 1000 : 1);
  if (format === "separator") return String(value).trim() || NEW_CLIENT_DRAFT[name];
  return type === "secret" && value === "" ? undefined : value;
}

/** The value of a field for the API; `null` if the field has no effect. */
function usedValue(draft: ClientDraft, name: ConsoleSetting): unknown {
  return isFieldUsed(draft, name) ? requestValue(draft, name) ?? null : null;
}

/** The fields that differ between two drafts, in the order of the form. Secrets cannot be compared. */
export function changedSettings(a: ClientDraft, b: ClientDraft): ConsoleSetting[] {
  return CLIENT_FIELDS.filter((name) =>
    clientSetting(name).type !== "secret" && String(usedValue(a, name)) !== String(usedValue(b, name))
  );
}

/** My changes on top of another administrator's changes. */
export function mergeDrafts(
  { base, mine, theirs }: { base: ClientDraft; mine: ClientDraft; theirs: ClientDraft },
): ClientDraft {
  const own = [...changedSettings(base, mine), "firstFactorServer.secret", "disconnectSecret"] as const;
  const { transport } = mine.transport === base.transport ? theirs : mine;
  return { ...theirs, ...Object.fromEntries(own.map((name) => [name, mine[name]])), transport };
}

function messageKey(name: ConsoleSetting, part = ""): MessageKey {
  return `clients.field_${name.replace(".", "_")}${part}` as MessageKey;
}

export function settingLabel(name: ConsoleSetting): string {
  return t(messageKey(name));
}

/** The value of a field as text; `null` if it is empty or has no effect. */
export function settingText(
  draft: ClientDraft,
  name: ConsoleSetting,
  gateway?: ClientGateway,
): string | null {
  const value = usedValue(draft, name);
  if (value === null || value === "" || (value === 0 && !isTyped(name))) return null;
  return choiceText({ draft, gateway }, { name, value }) || null;
}

interface ChoiceContext {
  readonly draft: Pick<ClientDraft, "firstFactor"> & Partial<ClientDraft>;
  /** Absent: texts do not say what the global setting is. */
  readonly gateway: ClientGateway | undefined;
}

/** The text of a value. A value that depends on another setting says what it amounts to. */
function choiceText(
  { draft, gateway }: ChoiceContext,
  { name, value }: { name: ConsoleSetting; value: unknown },
): string {
  if (gateway === undefined) return valueText(name, value);
  if (name === "firstFactor" && value === "settings") {
    return t("clients.global_value", { value: t(`clients.field_firstFactor_${gateway.firstFactor}`) });
  }
  if (name === "holdMs" && value === 0) {
    return t("clients.global_value", { value: valueText(name, gateway.holdMs) });
  }
  if (name !== "unknownUsers" || value !== "auto") return valueText(name, value);
  const firstFactor = draft.firstFactor === "settings" ? gateway.firstFactor : draft.firstFactor;
  return t(firstFactor === "none" ? "clients.unknown_allowed" : "clients.unknown_rejected");
}

function valueText(name: ConsoleSetting, value: unknown): string {
  const row = clientSetting(name);
  if (Array.isArray(value)) return value.join(", ");
  if (row.type === "flag") return t(value === true ? "common.yes" : "common.no");
  if ("unit" in row) return t("clients.seconds", { count: Number(value) / 1000 });
  return row.type === "choice" ? t(messageKey(name, `_${value}`)) : String(value);
}

/** Whether the value is shown as it is, without a label. */
export function isVerbatim(name: ConsoleSetting): boolean {
  const row = clientSetting(name);
  return row.type !== "flag" && row.type !== "choice" && !("unit" in row);
}

/** The field of a setting in the form. */
export function clientField(name: ConsoleSetting, context?: ChoiceContext): FieldRow<ClientDraft> {
  const row = clientSetting(name);
  const question = messageKey(name, "_question");
  const hint = messageKey(name, "_hint");
  const offered = row.console?.choices ?? (row.type === "choice" ? row.of : undefined);
  const labelOf = (value: unknown) =>
    context === undefined ? valueText(name, value) : choiceText(context, { name, value });
  return {
    name,
    // A check box needs a sentence; the label of the value is too short.
    label: findMessage(question) === null ? messageKey(name) : question,
    ...(findMessage(hint) === null ? {} : { hint }),
    ...(offered ? { choices: offered, choiceLabel: labelOf } : {}),
    ...(LINE_FORMATS.has(row.format ?? "") ? { lines: 2 } : {}),
    input: inputOf(name, context),
  } as FieldRow<ClientDraft>;
}

function inputOf(
  name: ConsoleSetting,
  { draft, gateway }: Partial<ChoiceContext> = {},
): FieldRow<ClientDraft>["input"] {
  const row = clientSetting(name);
  const maxLength = row.console?.max ?? ("max" in row ? row.max : 0);
  if (row.format === "ranges") return { required: draft?.transport !== "tls" };
  // One of the two selects the certificate.
  if (row.format === "san") return { maxLength, required: (draft?.tlsFingerprint ?? "").trim() === "" };
  if (row.format === "peers") {
    return { required: true, placeholder: t("common.example", { value: [row.example].flat()[0] ?? "" }) };
  }
  if (row.format === "separator") return { maxLength: 1 };
  if (row.type === "secret") return { type: "password", maxLength };
  if (row.type === "number" && row.console?.choices === undefined) {
    const usual = gateway === undefined || !isTyped(name)
      ? {}
      : { placeholder: choiceText({ draft: NEW_CLIENT_DRAFT, gateway }, { name, value: 0 }) };
    return { type: "number", min: row.min, max: row.max, ...usual };
  }
  return row.type === "text" ? { maxLength } : {};
}

type ApiSession = Pick<Models, "api" | "session">;
const idOf = (name: string) => ({ param: escapeParams({ id: name }) });

export const fetchClients = ({ api }: ApiSession) => take(api.clients.$get());

export const fetchClient = ({ api }: ApiSession, name: string) => take(api.clients[":id"].$get(idOf(name)));

export const fetchUnknownSenders = ({ api }: ApiSession, secret: string | undefined) =>
  take(api.clients.heard.$post({ json: secret === undefined ? {} : { secret } }));

type FirstFactorTest = Parameters<Models["api"]["clients"]["first-factor"]["$post"]>[0]["json"];

type NewClient = Parameters<Models["api"]["clients"]["$post"]>[0]["json"];

type ChangedClient = Parameters<Models["api"]["clients"][":id"]["$put"]>[0]["json"];

type Rotation = Parameters<Models["api"]["clients"][":id"]["secret"]["$post"]>[0]["json"];

type ClientForm = Omit<ChangedClient, "version">;

export const addClient = ({ api, session }: ApiSession, json: NewClient) =>
  session.whileSignedIn(() => take(api.clients.$post({ json })));

export const changeClient = ({ api, session }: ApiSession, name: string, json: ChangedClient) =>
  session.whileSignedIn(() => take(api.clients[":id"].$put({ ...idOf(name), json })));

export const runFirstFactorTest = ({ api, session }: ApiSession, json: FirstFactorTest) =>
  session.whileSignedIn(() => take(api.clients["first-factor"].$post({ json })));

export const rotateSecret = ({ api, session }: ApiSession, name: string, json: Rotation) =>
  session.whileSignedIn(() => take(api.clients[":id"].secret.$post({ ...idOf(name), json })));

export const endOverlap = ({ api, session }: ApiSession, name: string) =>
  session.whileSignedIn(() => take(api.clients[":id"].overlap.$delete(idOf(name))));

export const removeClient = ({ api, session }: ApiSession, name: string) =>
  session.whileSignedIn(() => take(api.clients[":id"].$delete(idOf(name))));
