// The API of the phone page, below /device/api. The phone's token is in an HttpOnly cookie; every decision is a POST from the same
// origin.

import { type Context, Hono } from "hono";
import * as v from "valibot";
import { parseDeviceLabel } from "../../../platform/device_label.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { UserNotice } from "../../../platform/user_record.ts";
import { sourceKey } from "../../../platform/addresses.ts";
import type {
  DeviceService,
  PhoneOrigin,
  PhoneResult,
  PhoneView,
} from "../../../upstream/embedded/second_factor/interfaces.ts";
import {
  browserLabel,
  cookieName,
  cookieOptions,
  EMPTY,
  type HttpEnv,
  jsonBody,
  sameOrigin,
} from "../hono_env.ts";
import { eventChunk, type EventSink, type EventStreams } from "../conversations/event_stream.ts";
import { Refusal } from "../errors.ts";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";

export interface DeviceApiDeps {
  readonly phone: () => DeviceService | null;
  readonly streams: EventStreams;
  /** A small pool for phones without a pairing, because anyone can get such a token. */
  readonly unpairedStreams: EventStreams;
  readonly clock: Clock;
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
const DECISION = v.strictObject({
  approve: v.boolean(),
  number: v.nullable(v.pipe(v.string(), v.maxLength(8))),
});

export function createDeviceApi(deps: DeviceApiDeps) {
  const { phone, streams, unpairedStreams, clock } = deps;
  const service = (): DeviceService => {
    const current = phone();
    if (current === null) throw new Refusal("no_phone_page");
    return current;
  };
  return new Hono<HttpEnv>()
    .use(sameOrigin)
    .get("/view", async (c) => {
      const token = phoneToken(c);
      const view: PhoneView | null = token === "" ? null : await service().view(token);
      const notices = await deps.notices?.(view) ?? [];
      return c.json({ available: phone() !== null, nowMs: clock.nowMs(), view, notices });
    })
    .get("/stream", async (c) => {
      const token = phoneToken(c);
      const view = token === "" ? null : await service().view(token);
      if (view === null) throw new Refusal("unknown_token");
      if (c.req.method === "HEAD") return c.body(null);
      const isPaired = view.pairings.length > 0;
      return (isPaired ? streams : unpairedStreams).open({
        owner: isPaired ? token : sourceKey(c.env.remoteAddress),
        start: (sink) => followPhone(token, { phone: service(), clock, sink }),
        isStillAllowed: async () => await service().view(token) !== null,
      });
    })
    .post("/invitation/look", jsonBody(INVITATION), async (c) => {
      const seen = await service().viewInvitation(c.req.valid("json").invitation, c.env.remoteAddress);
      if (!seen.ok) throw new Refusal(seen.reason);
      const { userName, requesterName, deadlineMs } = seen;
      return c.json({ userName, requesterName, deadlineMs, nowMs: clock.nowMs() });
    })
    .post("/invitation/accept", jsonBody(ACCEPTANCE), async (c) => {
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
    .post("/requests/:id", jsonBody(DECISION), async (c) => {
      const { approve, number } = c.req.valid("json");
      const decision = approve ? { approve, number } as const : { approve } as const;
      valueOf(await service().decide(requirePhoneToken(c), c.req.param("id"), decision));
      return c.json({ done: true });
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
  { phone, clock, sink }: { phone: DeviceService; clock: Clock; sink: EventSink },
): () => void {
  let stopped = false;
  let waiting = false;
  const send = async (): Promise<void> => {
    waiting = false;
    const view = await phone.view(token).catch(() => null);
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

const COOKIE = "countersign-phone";
const ONE_YEAR_S = 365 * 24 * 60 * 60;
const MAX_TOKEN_CHARACTERS = 128;

/** The token, or "". */
export function phoneToken(c: Context<HttpEnv>): string {
  const token = getCookie(c, cookieName(c, COOKIE)) ?? "";
  return token.length <= MAX_TOKEN_CHARACTERS ? token : "";
}

/** @throws Refusal `unknown_token` without one. */
export function requirePhoneToken(c: Context<HttpEnv>): string {
  const token = phoneToken(c);
  if (token === "") throw new Refusal("unknown_token");
  return token;
}

export function setPhoneToken(c: Context<HttpEnv>, token: string): void {
  setCookie(c, cookieName(c, COOKIE), token, cookieOptions(c, { maxAgeS: ONE_YEAR_S }));
}

export function deletePhoneToken(c: Context<HttpEnv>): void {
  deleteCookie(c, cookieName(c, COOKIE), cookieOptions(c));
}
