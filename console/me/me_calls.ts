// What the account page asks of its server, typed; each call resolves to its value or throws an ApiFailure.

import type { hc } from "hono/client";
import type { Factor } from "../../radius/flow/factors.ts";
import type { MeApi } from "../api/account/account_api.ts";
import { take } from "../web/api_client.ts";
import { calls } from "../web/api_calls.ts";

type MeClient = ReturnType<typeof hc<MeApi>>;
export type MeCalls = ReturnType<typeof createMeCalls>;

export function createMeCalls(api = calls("/me/api") as MeClient) {
  const byId = (id: string) => ({ param: { id } });
  return {
    session: () => take(api.session.$get()),
    /** Moves the end on, as far as it can be. */
    stay: () => take(api.session.stay.$post({ json: {} })),
    /** A code of the phone's page or of an authenticator app. */
    stepUp: (code: string) => take(api.session["step-up"].$post({ json: { code } })),
    openLink: (link: string) => take(api.session.$post({ json: { link } })),
    openPhone: (userName: string) => take(api.session.$post({ json: { phone: true, userName } })),
    /** Uses nothing up. */
    look: (link: string) => take(api.link.look.$post({ json: { link } })),
    signOut: () => take(api.session.$delete()),
    factors: () => take(api.factors.$get()),
    logins: () => take(api.logins.$get()),
    confirmNotices: () => take(api.notices.$delete()),
    /** A factor that a revoked phone added. */
    keepUnconfirmed: (id: string) => take(api.unconfirmed[":id"].keep.$post({ ...byId(id), json: {} })),
    removeUnconfirmed: (id: string) => take(api.unconfirmed[":id"].$delete(byId(id))),
    invite: () => take(api.devices.invitation.$post({ json: {} })),
    renameDevice: (id: string, name: string) =>
      take(api.devices[":id"].$put({ ...byId(id), json: { name } })),
    removeDevice: (id: string) => take(api.devices[":id"].$delete(byId(id))),
    prefer: (factor: Factor | null) => take(api.preference.$put({ json: { factor } })),
    beginTotp: () => take(api.totp.$post({ json: {} })),
    confirmTotp: (code: string) => take(api.totp.confirm.$post({ json: { code } })),
    removeTotp: (id: string) => take(api.totp[":id"].$delete(byId(id))),
    makeCodes: () => take(api["recovery-codes"].$post({ json: {} })),
    /** Denies what waits, locks for an hour, tells the administrators; `null` for no login in particular. */
    notMe: (conversationId: string | null) => take(api["not-me"].$post({ json: { conversationId } })),
  };
}
