// API actions on VPN sessions.

import type { ApiActions } from "./api_action.ts";

export const VPN_SESSION_ACTIONS: ApiActions = {
  "POST /connected/:id/disconnect": {
    prepare({ report }) {
      report("start", "ada");
      return { path: "/connected/0001/disconnect" };
    },
    action: "vpn_session.disconnect",
    object: "user:ada",
  },
  "POST /users/:id/sessions/disconnect": {
    prepare({ report }) {
      report("start", "ada");
      return { path: "/users/ada/sessions/disconnect" };
    },
    action: "vpn_session.disconnect",
    object: "user:ada",
  },
};
