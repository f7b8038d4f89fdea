// API actions on receivers of alerts.

import { alertMutations } from "../../../platform/alerts/alert_record.ts";
import type { ApiActions, Call, Stage } from "./api_action.ts";

const CHAT = { name: "chat", kind: "webhook", url: "https://hooks.example.com/in" };
const PATH = "/alerts/receivers";
const OBJECT = "alert-receiver:chat";

/** The receiver already exists. */
function withChat(call: Call) {
  return async ({ ask }: Stage): Promise<Call> => {
    await ask(PATH, { json: CHAT });
    return call;
  };
}

export const ALERT_ACTIONS: ApiActions = {
  "POST /alerts/:id/acknowledge": {
    async prepare({ site }): Promise<Call> {
      const atMs = Date.now();
      await site.store.commit({
        mutations: alertMutations({
          ...{
            id: "a1",
            kind: "user_locked",
            severity: "warning",
            about: "user:ada",
            values: { user: "ada" },
          },
          ...{ count: 1, openedMs: atMs, lastMs: atMs, endedMs: null, notifiedMs: atMs, notifiedCount: 1 },
        }),
      });
      return { path: "/alerts/a1/acknowledge", json: { count: 1 } };
    },
    action: "alert.acknowledge",
    object: "alert:user_locked",
  },
  "POST /alerts/receivers": {
    prepare: () => ({ path: PATH, json: CHAT }),
    action: "alert.receiver_create",
    object: OBJECT,
  },
  "PATCH /alerts/receivers/:name": {
    prepare: withChat({ path: `${PATH}/chat`, json: { version: 1, change: { minSeverity: "critical" } } }),
    action: "alert.receiver_change",
    object: OBJECT,
  },
  "DELETE /alerts/receivers/:name": {
    prepare: withChat({ path: `${PATH}/chat` }),
    action: "alert.receiver_delete",
    object: OBJECT,
  },
  "POST /alerts/receivers/:name/pause": {
    prepare: withChat({ path: `${PATH}/chat/pause`, json: { paused: true } }),
    action: "alert.receiver_pause",
    object: OBJECT,
  },
  "POST /alerts/receivers/:name/secret": {
    prepare: withChat({ path: `${PATH}/chat/secret`, json: { version: 1 } }),
    action: "alert.receiver_secret",
    object: OBJECT,
  },
  "POST /alerts/receivers/:name/test": {
    prepare: withChat({ path: `${PATH}/chat/test` }),
    action: "alert.receiver_test",
    object: OBJECT,
  },
};
