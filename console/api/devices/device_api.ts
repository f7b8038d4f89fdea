// The API of the phone page, below /device/api. The phone's token is in an HttpOnly cookie; every decision is a POST from the same
// origin.

import * as v from "valibot";
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { readCode } from "../../../radius/protocol/login_input.ts";
import { canonicalName } from "../../../platform/canonical_name.ts";
import { parseDeviceLabel } from "../../../platform/device_label.ts";
import { type Clock, toBase64Url } from "../../../platform/runtime.ts";
import type { LimitTableDeps } from "../../../platform/limit_table.ts";
import type { Mutation, Store } from "../../../platform/store.ts";
import type { Vault } from "../../../platform/vault.ts";
import type { UserNotice } from "../../../platform/user_record.ts";
import type { PhonePages } from "../../../upstream/embedded/push/phone_pages.ts";
import { sourceKey } from "../../../platform/addresses.ts";
import type {
  DeviceService,
  PersonDecision,
  PhoneOrigin,
  PhoneRequest,
  PhoneResult,
  PhoneView,
} from "../../../upstream/embedded/second_factor/interfaces.ts";
import { auditEntry } from "../../../platform/audit.ts";
import { type DevicePairingRow, pairingDetails } from "../../../radius/factors/pairing.ts";
import { createChangeLimit } from "../change_limits.ts";
import { browserLabel, EMPTY, type HttpEnv, jsonBody, sameOrigin } from "../hono_env.ts";
import { eventChunk, type EventSink, type EventStreams } from "../conversations/event_stream.ts";
import { createInvitedAppRoutes, type InvitedApp } from "../enrolment/invited_app.ts";
import { Refusal } from "../errors.ts";
import type { NotMeResult } from "../account/account_types.ts";
import type { People } from "../deps.ts";
import { deletePhoneToken, phoneToken, requirePhoneToken, setPhoneToken } from "./phone_cookie.ts";
import { createPushApi, noteUses } from "./push_api.ts";

export interface DeviceApiDeps extends LimitTableDeps {
  readonly phone: () => DeviceService | null;
  /** `null`: no push messages. */
  readonly pages: () => PhonePages | null;
  readonly streams: EventStreams;
  /** A small pool for phones without a pairing, because anyone can get such a token. */
  readonly unpairedStreams: EventStreams;
  readonly clock: Clock;
  readonly store: Store;
  readonly vault: Pick<Vault, "digest">;
  /** The names of phones; absent without a directory. */
  readonly names?: PhoneNames | undefined;
  /** The holder of an invitation can use an authenticator app instead of a phone. */
  readonly invitedApp: InvitedApp;
  /** Reports a request of the phone as "not me". */
  readonly report: (view: PhoneView, requestId: string, source: string) => Promise<NotMeResult>;
  /** What belongs to the commit if a user says that they did not call the help desk. */
  readonly callerReport?:
    | ((origin: PhoneOrigin) => (request: PhoneRequest) => readonly Mutation[])
    | undefined;
  /** Unconfirmed notices of the users of a phone; absent without a directory. */
  readonly notices?: ((view: PhoneView | null) => Promise<readonly PhoneNotice[]>) | undefined;
}

export type PhoneNotice = UserNotice & { readonly userName: string };

/** For the typed client: `hc<DeviceApi>("/device/api")`. */
export type DeviceApi = ReturnType<typeof createDeviceApi>;

const COALESCE_MS = 50;
const secretText = v.pipe(v.string(), v.minLength(1), v.maxLength(256));
const INVITATION = v.strictObject({ invitation: secretText });
/** The name of the phone; empty: none. */
const phoneName = v.optional(v.pipe(v.string(), v.maxLength(1024)), "");
const ACCEPTANCE = v.strictObject({ invitation: secretText, name: phoneName });
const APPROVAL = v.strictObject({ approve: v.boolean(), name: phoneName });
const NAME = v.strictObject({ name: v.pipe(v.string(), v.maxLength(1024)) });
const DECISION = v.strictObject({
  approve: v.boolean(),
  number: v.nullable(v.pipe(v.string(), v.maxLength(8), v.transform(readCode))),
  /** The answer to the help desk: the user did not call. */
  notMe: v.optional(v.boolean(), false),
  /** This phone had shown a notification of the request. */
  isNotified: v.optional(v.boolean(), false),
});

export function createDeviceApi(deps: DeviceApiDeps) {
  const { phone, streams, unpairedStreams, clock } = deps;
  const service = () => requireDeviceService(phone());
  const viewOf = async (c: Context<HttpEnv>): Promise<PhoneView | null> =>
    phoneToken(c) === "" ? null : await service().view(phoneToken(c));
  return new Hono<HttpEnv>()
    .use(sameOrigin, limitChanges(deps), noteUses(deps))
    .route("/push", createPushApi(deps))
    .route("/invitation", createInvitationApi(deps, service))
    .get("/view", async (c) => {
      const view = withNames(await viewOf(c), deps.names);
      // Browsers limit the lifetime of cookies. A phone that is in use stays paired.
      if (view !== null && view.pairings.length > 0) setPhoneToken(c, phoneToken(c));
      const notices = await deps.notices?.(view) ?? [];
      return c.json({ available: phone() !== null, nowMs: clock.nowMs(), view, notices });
    })
    .get("/stream", async (c) => {
      const token = phoneToken(c);
      const view = await viewOf(c);
      if (view === null) throw new Refusal("unknown_token");
      if (c.req.method === "HEAD") return c.body(null);
      const isPaired = view.pairings.length > 0;
      return (isPaired ? streams : unpairedStreams).open({
        owner: isPaired ? token : sourceKey(c.env.remoteAddress),
        ...(isPaired ? { person: canonicalName(view.pairings[0]?.userName ?? "") } : {}),
        start: (sink) => followPhone(token, { phone: service(), names: deps.names, clock, sink }),
        isStillAllowed: async () => await service().view(token) !== null,
      });
    })
    .post("/phrase", jsonBody(EMPTY), async (c) => {
      const held = phoneToken(c);
      if (held !== "") {
        const next = await service().newPhrase(held);
        if (next.ok) return c.json({ ...next.value, nowMs: clock.nowMs() });
        if (next.reason !== "unknown_token") throw new Refusal(next.reason);
      }
      const { token, phrase, deadlineMs } = valueOf(await service().startWithPhrase(c.env.remoteAddress));
      setPhoneToken(c, token);
      return c.json({ phrase, deadlineMs, nowMs: clock.nowMs() });
    })
    .post("/pairings/:id", jsonBody(APPROVAL), async (c) => {
      const { approve, name } = c.req.valid("json");
      const decision = { approve, name: nameOf(name), origin: originOf(c) };
      valueOf(await service().decidePairing(requirePhoneToken(c), c.req.param("id"), decision));
      return c.json({ done: true });
    })
    .delete("/pairings/:id", async (c) => {
      const token = requirePhoneToken(c);
      valueOf(await service().unpair(token, c.req.param("id"), originOf(c)));
      if (await service().view(token) === null) deletePhoneToken(c);
      return c.json({ done: true });
    })
    .post("/pairings/:id/passcode", jsonBody(EMPTY), async (c) => {
      const passcode = valueOf(await service().passcode(requirePhoneToken(c), c.req.param("id")));
      return c.json({ ...passcode, nowMs: clock.nowMs() });
    })
    .post("/pairings/:id/passcode-seed", jsonBody(EMPTY), async (c) => {
      const { seed, ...parameters } = valueOf(
        await service().issuePasscodeSeed(requirePhoneToken(c), c.req.param("id"), originOf(c)),
      );
      return c.json({ seed: toBase64Url(seed), ...parameters });
    })
    .post(
      "/name",
      jsonBody(NAME),
      async (c) => c.json({ name: await renamePhone(deps, c, nameOf(c.req.valid("json").name)) }),
    )
    .post("/requests/:id", jsonBody(DECISION), async (c) => {
      const { approve, number, notMe, isNotified } = c.req.valid("json");
      const decision: PersonDecision = approve ? { approve, number } : { approve, notMe };
      const options = { isNotified, also: notMe ? deps.callerReport?.(originOf(c)) : undefined };
      valueOf(await service().decide(requirePhoneToken(c), c.req.param("id"), decision, options));
      return c.json({ done: true });
    })
    .post("/requests/:id/not-me", jsonBody(EMPTY), async (c) => {
      const view = await requirePhone(deps, c);
      return c.json(await deps.report(view, c.req.param("id"), c.env.remoteAddress));
    });
}

/** The view of the phone that calls. @throws Refusal `unknown_token` */
async function requirePhone(
  { phone }: Pick<DeviceApiDeps, "phone">,
  c: Context<HttpEnv>,
): Promise<PhoneView> {
  const view = await requireDeviceService(phone()).view(requirePhoneToken(c));
  if (view === null) throw new Refusal("unknown_token");
  return view;
}

/** Names the phone of the request, for all its users. */
async function renamePhone(
  { phone, pages, names }: DeviceApiDeps,
  c: Context<HttpEnv>,
  name: string | null,
): Promise<string> {
  const view = await requirePhone({ phone }, c);
  if (name === null) throw new Refusal("bad_phone_name");
  if (await pages()?.mayRename(requirePhoneToken(c)) === false) throw new Refusal("too_many_tries");
  for (const { pairingId } of view.pairings) await names?.rename(pairingId, { name, ...originOf(c) });
  return name;
}

/** Changes a minute: of a phone, so that one of a user does not limit another, and of all callers of a source that are no known phone. */
const CHANGES_PER_MINUTE = { phone: 60, source: 600 };

/** @throws Refusal `too_many_changes`. */
function limitChanges(deps: DeviceApiDeps): MiddlewareHandler<HttpEnv> {
  const ofPhone = createChangeLimit(deps, { name: "phone_change", perMinute: CHANGES_PER_MINUTE.phone });
  const ofSource = createChangeLimit(deps, {
    name: "phone_page_change",
    perMinute: CHANGES_PER_MINUTE.source,
  });
  return async (c, next) => {
    if (c.req.method !== "GET" && c.req.method !== "HEAD") {
      const token = phoneToken(c);
      const isPhone = token !== "" && (await deps.phone()?.view(token) ?? null) !== null;
      await (isPhone ? ofPhone.take(token) : ofSource.take(sourceKey(c.env.remoteAddress)));
    }
    await next();
  };
}

/** @throws Refusal `no_phone_page` with an external service. */
function requireDeviceService(service: DeviceService | null): DeviceService {
  if (service === null) throw new Refusal("no_phone_page");
  return service;
}

/** The view with the names of the phone, which also the account page and administrators change. */
function withNames(view: PhoneView | null, names: PhoneNames | undefined): PhoneView | null {
  if (view === null || names === undefined) return view;
  const pairings = view.pairings.map((pairing) => {
    const name = names.nameOf(pairing.pairingId);
    return name === null ? pairing : { ...pairing, name };
  });
  return { ...view, pairings };
}

function createInvitationApi({ clock, invitedApp }: DeviceApiDeps, service: () => DeviceService) {
  return new Hono<HttpEnv>()
    .post("/look", jsonBody(INVITATION), async (c) => {
      const seen = await service().viewInvitation(c.req.valid("json").invitation, c.env.remoteAddress);
      if (!seen.ok) throw new Refusal(seen.reason);
      const { userName, requesterName, deadlineMs } = seen;
      const offersApp = invitedApp.isOffered();
      return c.json({ userName, requesterName, deadlineMs, offersApp, nowMs: clock.nowMs() });
    })
    .route("/app", createInvitedAppRoutes(invitedApp))
    .post("/accept", jsonBody(ACCEPTANCE), async (c) => {
      const held = phoneToken(c);
      const { invitation, name } = c.req.valid("json");
      const { token, pairingId } = valueOf(
        await service().acceptInvitation(invitation, {
          token: held === "" ? null : held,
          name: nameOf(name),
          ...originOf(c),
        }),
      );
      setPhoneToken(c, token);
      return c.json({ pairingId });
    });
}

function originOf(c: Context<HttpEnv>): PhoneOrigin {
  return { source: c.env.remoteAddress, browser: browserLabel(c) };
}

function nameOf(given: string): string | null {
  if (given.trim() === "") return null;
  const name = parseDeviceLabel(given);
  if (name === null) throw new Refusal("bad_phone_name");
  return name;
}

function valueOf<T>(result: PhoneResult<T>): T {
  if (!result.ok) throw new Refusal(result.reason);
  return result.value;
}

/** Sends the view now and after each change; changes that come together are one message. */
function followPhone(
  token: string,
  { phone, names, clock, sink }: {
    phone: DeviceService;
    names: PhoneNames | undefined;
    clock: Clock;
    sink: EventSink;
  },
): () => void {
  let stopped = false;
  let waiting = false;
  const send = async (): Promise<void> => {
    waiting = false;
    const view = await phone.view(token).then((found) => withNames(found, names)).catch(() => null);
    if (!stopped) sink.send(eventChunk("view", JSON.stringify({ nowMs: clock.nowMs(), view })));
  };
  const stopWatching = phone.watch(token, () => {
    if (waiting || stopped) return;
    waiting = true;
    clock.after(COALESCE_MS, send);
  });
  void send();
  return () => {
    stopped = true;
    stopWatching();
  };
}

// The names of phones on the phone page. The gateway's pairings keep them, because administrators and the account page change them, too.

interface PhoneNames {
  /** `null`: the phone of this pairing has no name. */
  nameOf(pairingId: string): string | null;
  /** Names the phone of a pairing. Does nothing for an unknown one. */
  rename(pairingId: string, change: PhoneOrigin & { readonly name: string }): Promise<void>;
}

/** `undefined` without a directory. */
export function phoneNamesOf({ people }: { readonly people?: People | undefined }): PhoneNames | undefined {
  if (people === undefined) return undefined;
  const { pairings } = people;
  return {
    nameOf(pairingId) {
      const owner = pairings.ownerOf(pairingId);
      const found = owner === null ? undefined : pairings.of(owner).find(({ id }) => id === pairingId);
      return found?.kind === "device" ? found.name ?? null : null;
    },
    async rename(pairingId, { name, source, browser }) {
      const also = (before: DevicePairingRow) => [
        auditEntry({
          action: "pairing.rename",
          actor: `user:${before.shownUser}`,
          object: `user:${before.shownUser}`,
          source,
          browser,
          ...pairingDetails({ ...before, name }),
          before: before.name,
          after: name,
        }),
      ];
      if (this.nameOf(pairingId) === name) return;
      await pairings.rename(pairingId, { name, also });
    },
  };
}
