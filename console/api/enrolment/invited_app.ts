// An authenticator app instead of a phone: the holder of an invitation enrols one on the invitation's page. The invitation is used in the commit
// that adds the app, so it enrols one factor, once.

import { type Context, Hono } from "hono";
import * as v from "valibot";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Mutation } from "../../../platform/store.ts";
import { pairingDetails } from "../../../radius/factors/pairing.ts";
import type { PreparedInvitationUse } from "../../../upstream/embedded/second_factor/interfaces.ts";
import { createSignInRateLimit } from "../auth/sign_in_rate_limit.ts";
import { requireUsers } from "../deps.ts";
import { Refusal } from "../errors.ts";
import { browserLabel, type HttpEnv, jsonBody } from "../hono_env.ts";
import {
  addedByDetail,
  beginTotpEnrolment,
  factorAudit,
  type FactorDeps,
  factorNotice,
  type FactorRequest,
  proveTotp,
  type TotpEnrolment,
} from "../users/factor_changes.ts";

interface InvitedAppDeps extends Omit<FactorDeps, "people"> {
  readonly people?: FactorDeps["people"] | undefined;
}

/** Where a request of the page comes from. */
interface RequestOrigin {
  readonly source: string;
  readonly browser?: string | undefined;
}

export type AppKey = Pick<TotpEnrolment, "secret" | "uri" | "qr">;

/** An enrolled app, with the recovery codes if they were wanted. */
export interface EnrolledApp {
  readonly userName: string;
  readonly codes: readonly string[] | null;
}

export interface InvitedApp {
  /** Whether users sign in with authenticator apps here. */
  isOffered(): boolean;
  /** A new seed for the app. @throws Refusal as for a phone, `no_invitations` */
  begin(invitation: string, origin: RequestOrigin): Promise<AppKey>;
  /** Adds the app after a correct code, and recovery codes if they are wanted. @throws Refusal `wrong_totp`, `no_totp_begun`, as for a phone */
  confirm(
    invitation: string,
    proof: RequestOrigin & { readonly code: string; readonly wantsCodes: boolean },
  ): Promise<EnrolledApp>;
}

export function createInvitedApp(given: InvitedAppDeps): InvitedApp {
  const attempts = createSignInRateLimit(given, "invited_app");
  const depsOf = (): FactorDeps => ({ ...given, people: requireUsers(given.people) });
  const useOf = async (invitation: string, { source }: RequestOrigin): Promise<PreparedInvitationUse> => {
    const admin = given.secondFactorAdmin();
    if (admin === null || !isOffered(given)) throw new Refusal("no_invitations");
    const used = await admin.prepareInvitationUse(invitation, source);
    if (!used.ok) throw new Refusal(used.reason);
    return used.value;
  };
  const idOf = (invitation: string): string => given.vault.digest("invited app", invitation);
  return {
    isOffered: () => isOffered(given),
    async begin(invitation, origin) {
      const use = await useOf(invitation, origin);
      return await beginTotpEnrolment(depsOf(), requestOf(use, origin), { id: idOf(invitation) });
    },
    async confirm(invitation, { code, wantsCodes, ...origin }) {
      const use = await useOf(invitation, origin);
      const canonical = canonicalName(use.userName);
      const attempt = await attempts.take({ source: null, name: canonical });
      try {
        const deps = depsOf();
        const codes = await deps.people.pairings.exclusive(
          { user: canonical },
          () =>
            addApp(deps, { use, request: requestOf(use, origin), id: idOf(invitation), code, wantsCodes }),
        );
        await attempt.forgive();
        return { userName: use.userName, codes };
      } catch (fault) {
        if (!(fault instanceof Refusal) || fault.code !== "wrong_totp") await attempt.forgive();
        throw fault;
      }
    },
  };
}

function isOffered({ people }: InvitedAppDeps): boolean {
  return people?.factors.enabled.includes("totp") === true;
}

function requestOf(
  { userName, addedBy }: PreparedInvitationUse,
  { source, browser }: RequestOrigin,
): FactorRequest {
  return {
    ...{ user: userName, actor: `user:${userName}`, source, addedBy, isInvited: true },
    ...(browser === undefined ? {} : { browser }),
  };
}

interface AppAddition {
  readonly use: PreparedInvitationUse;
  readonly request: FactorRequest;
  readonly id: string;
  readonly code: string;
  readonly wantsCodes: boolean;
}

async function addApp(
  deps: FactorDeps,
  { use, request, id, code, wantsCodes }: AppAddition,
): Promise<readonly string[] | null> {
  const { people: { pairings, recoveryCodes }, store } = deps;
  const { addedBy } = request;
  const proven = await proveTotp(deps, request, { id, code });
  const canonical = canonicalName(request.user);
  const prepared = pairings.prepare({ canonical, shown: request.user }, { ...proven.pairing, addedBy });
  const made = wantsCodes ? recoveryCodes.create(canonical, { addedBy }) : null;
  const recordId = proven.owner.id;
  const mutations: Mutation[] = [
    prepared.mutation,
    ...prepared.marking,
    proven.ending,
    ...use.mutations,
    factorAudit(request, {
      action: "pairing.add",
      ...pairingDetails(prepared.pairing),
      ...addedByDetail(request),
    }),
    factorNotice(deps, request, { what: "totp", recordId }),
    ...(made === null ? [] : [
      ...made.mutations,
      factorAudit(request, {
        ...{ action: "recovery_codes.make", after: `${made.codes.length} made` },
        ...addedByDetail(request),
      }),
      factorNotice(deps, request, { what: "recovery_codes", recordId }),
    ]),
  ];
  const done = await store.commit({
    checks: [...proven.checks, ...use.checks, ...(made === null ? [] : made.checks)],
    mutations,
  });
  if (!done.ok) {
    await use.raced();
    throw new Refusal("changed_meanwhile");
  }
  use.done(done.versionstamp);
  pairings.adopt(prepared.pairing);
  made?.adopt(done.versionstamp);
  return made?.codes ?? null;
}

const invitation = v.pipe(v.string(), v.minLength(1), v.maxLength(256));
const BEGIN = v.strictObject({ invitation });
const PROOF = v.strictObject({
  invitation,
  code: v.pipe(v.string(), v.minLength(1), v.maxLength(16)),
  recoveryCodes: v.boolean(),
});

export function createInvitedAppRoutes(app: InvitedApp) {
  const originOf = (c: Context<HttpEnv>) => ({ source: c.env.remoteAddress, browser: browserLabel(c) });
  return new Hono<HttpEnv>()
    .post("/", jsonBody(BEGIN), async (c) => {
      const { secret, uri, qr } = await app.begin(c.req.valid("json").invitation, originOf(c));
      return c.json({ secret, uri, qr });
    })
    .post("/confirm", jsonBody(PROOF), async (c) => {
      const { invitation, code, recoveryCodes: wantsCodes } = c.req.valid("json");
      return c.json(await app.confirm(invitation, { code, wantsCodes, ...originOf(c) }));
    });
}
