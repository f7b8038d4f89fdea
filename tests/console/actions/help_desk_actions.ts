// API actions of the help desk.

import type { ApiActions, Stage } from "./api_action.ts";

const ADA = "user:ada";
const ONE_USE = { uses: 1, minutes: 60 };
const VERIFIED = "needs a phone: caller_verification_test.ts checks the records of each result";

async function withAda({ site }: Stage): Promise<void> {
  await site.people.put("ada");
}

export const HELP_DESK_ACTIONS: ApiActions = {
  "POST /users/:id/bypass": {
    async prepare(stage) {
      await withAda(stage);
      return { path: "/users/ada/bypass", json: ONE_USE };
    },
    action: "bypass.issue",
    object: ADA,
  },
  "DELETE /users/:id/bypass": {
    async prepare(stage) {
      await withAda(stage);
      await stage.ask("/users/ada/bypass", { json: ONE_USE });
      return { path: "/users/ada/bypass" };
    },
    action: "bypass.revoke",
    object: ADA,
  },
  "POST /users/:id/lost-phone": {
    async prepare(stage) {
      await withAda(stage);
      return { path: "/users/ada/lost-phone", json: { phones: [], bypass: ONE_USE } };
    },
    action: "user.lost_phone",
    object: ADA,
  },
  "POST /users/:id/verification": { silent: VERIFIED },
  "DELETE /users/:id/verification/:verification": { silent: VERIFIED },
};
