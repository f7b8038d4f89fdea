// API actions on hardware tokens, and on imports of their seed files.

import type { TokenImportView } from "../../../console/api/tokens/token_types.ts";
import { addToken, tokenCode } from "../../radius/rows/tokens.ts";
import type { ApiActions, AuditedAction, Call, Stage } from "./api_action.ts";

const ADA = "user:ada";
const BASE = "/hardware-tokens";
const DRAFT = "a draft of one administrator: no token is stored until it is applied";

/** Ada has the token T-1, and T-2 is free. */
async function withTokens({ site }: Stage): Promise<void> {
  const { people } = site;
  await people.put("ada");
  await addToken(people, "ada");
  await addToken(people, null, { serial: "T-2" });
}

function onToken(call: Call, { action, object }: Pick<AuditedAction, "action" | "object">): AuditedAction {
  return {
    async prepare(stage) {
      await withTokens(stage);
      return call;
    },
    action,
    object,
  };
}

async function checkedTokenImport({ ask }: Stage): Promise<string> {
  const { id } = await ask<TokenImportView>(`${BASE}/imports`, { json: { file: "seeds.csv" } });
  await ask(`${BASE}/imports/${id}/text`, { json: { text: `T-9,${"31".repeat(20)},hotp\n` } });
  await ask(`${BASE}/imports/${id}/check`);
  for (;;) {
    const { state } = await ask<TokenImportView>(`${BASE}/imports/${id}`, { method: "GET" });
    if (state === "checked") return id;
  }
}

export const TOKEN_ACTIONS: ApiActions = {
  "POST /hardware-tokens/imports": { silent: DRAFT },
  "POST /hardware-tokens/imports/:id/text": { silent: DRAFT },
  "POST /hardware-tokens/imports/:id/check": { silent: DRAFT },
  "DELETE /hardware-tokens/imports/:id": { silent: DRAFT },
  "POST /hardware-tokens/imports/:id/apply": {
    prepare: async (stage) => ({ path: `${BASE}/imports/${await checkedTokenImport(stage)}/apply` }),
    action: "hardware_token.import",
    object: "target:default",
    isLater: true,
  },
  "POST /hardware-tokens/bulk": onToken({ path: `${BASE}/bulk`, json: { does: "remove", ids: ["T-2"] } }, {
    action: "hardware_token.remove",
    object: "hardware-token:T-2",
  }),
  "POST /hardware-tokens/:id/assign": onToken({ path: `${BASE}/T-2/assign`, json: { user: "ada" } }, {
    action: "hardware_token.assign",
    object: ADA,
  }),
  "POST /hardware-tokens/:id/unassign": onToken({ path: `${BASE}/T-1/unassign` }, {
    action: "hardware_token.unassign",
    object: ADA,
  }),
  "PUT /hardware-tokens/:id/enabled": onToken({ path: `${BASE}/T-1/enabled`, json: { enabled: false } }, {
    action: "hardware_token.disable",
    object: ADA,
  }),
  "POST /hardware-tokens/:id/resynchronize": onToken(
    { path: `${BASE}/T-1/resynchronize`, json: { codes: [tokenCode(7), tokenCode(8)] } },
    { action: "hardware_token.resynchronize", object: ADA },
  ),
  "POST /hardware-tokens/:id/test": onToken({ path: `${BASE}/T-1/test`, json: { code: tokenCode(0) } }, {
    action: "hardware_token.test",
    object: ADA,
  }),
  "DELETE /hardware-tokens/:id": onToken({ path: `${BASE}/T-1` }, {
    action: "hardware_token.remove",
    object: ADA,
  }),
};
