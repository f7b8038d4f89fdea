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
import { type HttpEnv, requireSameOrigin } from "../api/hono_env.ts";
import type { AccountAuth } from "../api/account/account_auth.ts";
import type { AccountSession } from "../api/account/account_sessions.ts";
import { reportRequest } from "../api/account/account_logins.ts";
import type { People } from "../api/deps.ts";
import { phoneToken } from "../api/devices/phone_cookie.ts";
import { Refusal } from "../api/errors.ts";
import type { Dist } from "../assets.ts";
import { preferredLanguage } from "../html_shell.ts";
import { SCRIPTLESS_POLICY } from "../request_gate.ts";
import { approvePage, type ApproveView, loadApproveText } from "./approve_page.ts";

interface ApproveDeps {
  readonly people?: People;
  readonly secondFactorAdmin: () => SecondFactorAdmin | null;
  readonly phone: () => DeviceService | null;
  readonly accountAuth: () => AccountAuth;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly dist: Dist;
}

/** The visitor of the page, and their own request. */
interface Visitor {
  readonly me: AccountSession | null;
  readonly hasPhone: boolean;
  /** `null` when it is unknown, or belongs to another user. */
  readonly request: OwnRequest | null;
}

/** The result of the action in the query of the redirect. Untrusted: it only selects a message that fits the stored state. */
type RedirectResult = "wrong_number" | "not_me" | "";

const FORM_TYPE = "application/x-www-form-urlencoded";
const MAX_NUMBER_CHARACTERS = 8;

export function createApproveRoutes(deps: ApproveDeps) {
  const approvals = new Approvals(deps);
  return new Hono<HttpEnv>()
    .get("/:id", (c) => approvals.show(c))
    .post("/:id", (c) => approvals.submit(c));
}

class Approvals {
  readonly #deps: ApproveDeps;

  constructor(deps: ApproveDeps) {
    this.#deps = deps;
  }

  async show(c: Context<HttpEnv>): Promise<Response> {
    const visitor = await this.#findVisitor(c);
    return this.#respond(c, visitor, { view: this.#viewOf(visitor, parseResult(c.req.query("said"))) });
  }

  async submit(c: Context<HttpEnv>): Promise<Response> {
    requireSameOrigin(c);
    const visitor = await this.#findVisitor(c);
    const { request } = visitor;
    const { decision, number } = await readForm(c);
    if (request === null) return this.#respond(c, visitor, { view: this.#viewOf(visitor, "") });
    if (decision === "not_me") return redirect(c, await this.#reportNotMe(c, visitor, request));
    const isApproval = decision === "approve";
    if (request.state !== "waiting" || (!isApproval && decision !== "deny")) return redirect(c, "");
    if (isApproval && request.asksNumber && number.trim() === "") {
      return this.#respond(c, visitor, {
        view: { kind: "question", request, isIncomplete: true },
        status: 400,
      });
    }
    return redirect(c, await this.#decide(c, request, { approve: isApproval, number }));
  }

  async #findVisitor(c: Context<HttpEnv>): Promise<Visitor> {
    const { people, secondFactorAdmin, phone } = this.#deps;
    const me = people === undefined ? null : await this.#deps.accountAuth().findSession(c);
    const token = phoneToken(c);
    const view = token === "" ? null : await phone()?.view(token) ?? null;
    const paired = new Set(
      view?.pairings.flatMap(({ pairingId, status }) => status === "enabled" ? [pairingId] : []),
    );
    const request = secondFactorAdmin()?.request(c.req.param("id") ?? "") ?? null;
    const isOwn = request !== null &&
      (paired.has(request.pairingId) || me?.person.canonical === canonicalName(request.userName));
    return { me, hasPhone: view !== null, request: isOwn ? request : null };
  }

  #viewOf({ me, hasPhone, request }: Visitor, result: RedirectResult): ApproveView {
    if (this.#deps.secondFactorAdmin() === null) return { kind: "no_service" };
    if (request === null) return { kind: me === null && !hasPhone ? "signed_out" : "unknown" };
    if (request.state === "waiting") return { kind: "question", request, isIncomplete: false };
    return {
      kind: "answered",
      request,
      wasWrongNumber: result === "wrong_number",
      wasNotMe: result === "not_me",
      lockedUntilMs: this.#lockedUntilMs(request),
    };
  }

  #phoneName({ userName, pairingId }: OwnRequest): string | null {
    const pairings = this.#deps.people?.pairings.of(canonicalName(userName));
    const own = pairings?.find(({ id }) => id === pairingId);
    return own?.kind === "device" ? own.name ?? null : null;
  }

  #lockedUntilMs({ userName }: OwnRequest): number | null {
    const { people, clock } = this.#deps;
    const canonical = canonicalName(userName);
    if (people?.limits.isLocked(canonical) !== true) return null;
    const { lockedUntilMs } = people.limits.failures(canonical);
    return lockedUntilMs > clock.nowMs() ? lockedUntilMs : null;
  }

  async #respond(
    c: Context<HttpEnv>,
    { me, hasPhone, request }: Visitor,
    { view, status = 200 }: { view: ApproveView; status?: number },
  ): Promise<Response> {
    const { clock, dist } = this.#deps;
    const language = preferredLanguage(c.req.raw);
    const page = approvePage(view, {
      language,
      text: await loadApproveText(language),
      nowMs: clock.nowMs(),
      dist,
      path: pathOf(c),
      phone: request === null ? null : this.#phoneName(request),
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
  }

  async #decide(
    c: Context<HttpEnv>,
    request: OwnRequest,
    { approve, number }: { approve: boolean; number: string },
  ): Promise<RedirectResult> {
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
    const outcome = await this.#deps.secondFactorAdmin()?.decide(request.requestId, decision, {
      also: [record],
    });
    return outcome?.ok === false && outcome.reason === "wrong_number" ? "wrong_number" : "";
  }

  async #reportNotMe(
    c: Context<HttpEnv>,
    { me }: Visitor,
    request: OwnRequest,
  ): Promise<RedirectResult> {
    const source = c.env.remoteAddress;
    await reportRequest(this.#deps, request, { source, keepSessionId: me?.id ?? null });
    return "not_me";
  }
}

function redirect(c: Context<HttpEnv>, result: RedirectResult): Response {
  return c.redirect(result === "" ? pathOf(c) : `${pathOf(c)}?said=${result}`, 303);
}

/** The page's own path, built from the id: the requested address is not repeated. */
function pathOf(c: Context<HttpEnv>): string {
  return `/me/approve/${encodeURIComponent(c.req.param("id") ?? "")}`;
}

function parseResult(text: string | undefined): RedirectResult {
  return text === "wrong_number" || text === "not_me" ? text : "";
}

async function readForm(c: Context<HttpEnv>): Promise<{ decision: string; number: string }> {
  const type = c.req.header("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== FORM_TYPE) throw new Refusal("malformed");
  const form = new URLSearchParams(new TextDecoder().decode(await c.var.body.read()));
  return {
    decision: form.get("decision") ?? "",
    number: (form.get("number") ?? "").slice(0, MAX_NUMBER_CHARACTERS),
  };
}
