// /me/approve/:id: one login, confirmed or denied by a form. Opening it decides nothing, because mail scanners follow links.

import { type Context, Hono } from "hono";
import { canonicalName } from "../../platform/canonical_name.ts";
import type { Log } from "../../platform/log.ts";
import type { Clock, Random } from "../../platform/runtime.ts";
import type { Store } from "../../platform/store.ts";
import type {
  DeviceService,
  OwnRequest,
  SecondFactorAdmin,
} from "../../upstream/embedded/second_factor/interfaces.ts";
import { auditEntry } from "../../platform/audit.ts";
import { type HttpEnv, refuseForeignOrigin } from "../api/hono_env.ts";
import type { MeDoor } from "../api/account/account_auth.ts";
import type { MeSession } from "../api/account/account_sessions.ts";
import { createNotMe } from "../api/account/report_not_me.ts";
import type { People } from "../api/users/user_deps.ts";
import { phoneToken } from "../api/devices/device_cookie.ts";
import { Refusal } from "../api/errors.ts";
import type { Dist } from "../assets.ts";
import { preferredLanguage } from "../accept_language.ts";
import { SCRIPTLESS_POLICY } from "../security_headers.ts";
import { approvePage, type ApproveView } from "./approve_page.ts";
import { createApproveText } from "./approve_messages.ts";

export interface ApproveDeps {
  readonly people?: People;
  readonly desk: SecondFactorAdmin | null;
  readonly phone: DeviceService | null;
  readonly door: () => MeDoor;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly dist: Dist;
}

/** Who looks, and what of the request is theirs. */
interface Visitor {
  readonly me: MeSession | null;
  readonly hasPhone: boolean;
  /** `null` when it is not known, or belongs to another user. */
  readonly request: OwnRequest | null;
}

/** What a redirect says about the deed; anybody can type it, so it only chooses among true sentences. */
type Said = "wrong_number" | "not_me" | "";

const FORM_TYPE = "application/x-www-form-urlencoded";
const MAX_NUMBER_CHARACTERS = 8;

export function createApproveRoutes(deps: ApproveDeps) {
  const { desk, clock } = deps;

  const visitorOf = async (c: Context<HttpEnv>): Promise<Visitor> => {
    const me = deps.people === undefined ? null : await deps.door().holder(c);
    const token = phoneToken(c);
    const view = token === "" ? null : await deps.phone?.view(token) ?? null;
    const paired = new Set(
      view?.pairings.flatMap(({ pairingId, status }) => status === "enabled" ? [pairingId] : []),
    );
    const request = desk?.request(c.req.param("id") ?? "") ?? null;
    const isOwn = request !== null &&
      (paired.has(request.pairingId) || me?.person.canonical === canonicalName(request.userName));
    return { me, hasPhone: view !== null, request: isOwn ? request : null };
  };

  const viewOf = ({ me, hasPhone, request }: Visitor, said: Said): ApproveView => {
    if (desk === null) return { kind: "no_service" };
    if (request === null) return { kind: me === null && !hasPhone ? "signed_out" : "unknown" };
    if (request.state === "waiting") return { kind: "question", request, isIncomplete: false };
    return {
      kind: "answered",
      request,
      wasWrongNumber: said === "wrong_number",
      wasNotMe: said === "not_me",
      lockedUntilMs: lockOf(request),
    };
  };
  const phoneOf = ({ userName, pairingId }: OwnRequest): string | null => {
    const own = deps.people?.pairings.of(canonicalName(userName)).find(({ id }) => id === pairingId);
    return own?.kind === "device" ? own.name ?? null : null;
  };
  const lockOf = ({ userName }: OwnRequest): number | null => {
    const canonical = canonicalName(userName);
    if (deps.people?.limits.isLocked(canonical) !== true) return null;
    const { lockedUntilMs } = deps.people.limits.failures(canonical);
    return lockedUntilMs > clock.nowMs() ? lockedUntilMs : null;
  };

  const answer = (
    c: Context<HttpEnv>,
    view: ApproveView,
    { visitor: { me, hasPhone, request }, status = 200 }: { visitor: Visitor; status?: number },
  ): Response => {
    const language = preferredLanguage(c.req.raw);
    const page = approvePage(view, {
      language,
      text: createApproveText(language),
      nowMs: clock.nowMs(),
      dist: deps.dist,
      path: pathOf(c),
      phone: request === null ? null : phoneOf(request),
      home: me !== null ? "me" : hasPhone ? "phone" : null,
    });
    return new Response(page, {
      status,
      headers: {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": SCRIPTLESS_POLICY,
        "cache-control": "no-store",
        vary: "accept-language, cookie",
      },
    });
  };

  const decide = async (
    c: Context<HttpEnv>,
    request: OwnRequest,
    { approve, number }: { approve: boolean; number: string },
  ): Promise<Said> => {
    const { userName, client } = request;
    const actor = `user:${userName}`;
    const record = auditEntry({
      actor,
      source: c.env.remoteAddress,
      action: approve ? "approval.approve" : "approval.deny",
      object: actor,
      client,
      before: "waiting",
      after: approve ? "approved" : "denied",
    });
    const decision = approve ? { approve, number } as const : { approve } as const;
    const outcome = await desk?.decide(request.requestId, decision, { also: [record] });
    return outcome?.ok === false && outcome.reason === "wrong_number" ? "wrong_number" : "";
  };

  const disown = async (
    c: Context<HttpEnv>,
    { me }: Visitor,
    { userName, client, place }: OwnRequest,
  ): Promise<Said> => {
    if (deps.people === undefined) throw new Refusal("no_directory");
    const disowned = createNotMe({ ...deps, people: deps.people, sessions: deps.door().sessions });
    await disowned({
      user: userName,
      source: c.env.remoteAddress,
      keepSessionId: me?.id ?? null,
      about: { conversationId: "", client, place },
    });
    return "not_me";
  };

  return new Hono<HttpEnv>()
    .get("/:id", async (c) => {
      const visitor = await visitorOf(c);
      return answer(c, viewOf(visitor, saidOf(c.req.query("said"))), { visitor });
    })
    .post("/:id", async (c) => {
      refuseForeignOrigin(c);
      const visitor = await visitorOf(c);
      const { request } = visitor;
      const { decision, number } = await formOf(c);
      if (request === null) return answer(c, viewOf(visitor, ""), { visitor });
      if (decision === "not_me") {
        return c.redirect(`${pathOf(c)}?said=${await disown(c, visitor, request)}`, 303);
      }
      const isApproval = decision === "approve";
      if (request.state !== "waiting" || (!isApproval && decision !== "deny")) {
        return c.redirect(pathOf(c), 303);
      }
      if (isApproval && request.asksNumber && number.trim() === "") {
        return answer(c, { kind: "question", request, isIncomplete: true }, { visitor, status: 400 });
      }
      const said = await decide(c, request, { approve: isApproval, number });
      return c.redirect(said === "" ? pathOf(c) : `${pathOf(c)}?said=${said}`, 303);
    });
}

/** The page's own path, from the id alone: what is asked for is not repeated. */
function pathOf(c: Context<HttpEnv>): string {
  return `/me/approve/${encodeURIComponent(c.req.param("id") ?? "")}`;
}

function saidOf(text: string | undefined): Said {
  return text === "wrong_number" || text === "not_me" ? text : "";
}

async function formOf(c: Context<HttpEnv>): Promise<{ decision: string; number: string }> {
  const type = c.req.header("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== FORM_TYPE) throw new Refusal("malformed");
  const form = new URLSearchParams(new TextDecoder().decode(await c.var.body.read()));
  return {
    decision: form.get("decision") ?? "",
    number: (form.get("number") ?? "").slice(0, MAX_NUMBER_CHARACTERS),
  };
}
