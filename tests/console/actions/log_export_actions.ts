// API actions on destinations of the log export.

import type { ApiActions, Call, Stage } from "./api_action.ts";

const HOOK = { name: "hook", kind: "webhook", url: "https://hooks.example.com/in" };
const OBJECT = "log-export:hook";

/** The destination already exists. */
function withHook(call: Call) {
  return async ({ ask }: Stage): Promise<Call> => {
    await ask("/log-export", { json: HOOK });
    return call;
  };
}

export const LOG_EXPORT_ACTIONS: ApiActions = {
  "POST /log-export": {
    prepare: () => ({ path: "/log-export", json: HOOK }),
    action: "log_export.create",
    object: OBJECT,
  },
  "PATCH /log-export/:name": {
    prepare: withHook({ path: "/log-export/hook", json: { version: 1, change: { maxHours: 5 } } }),
    action: "log_export.change",
    object: OBJECT,
  },
  "DELETE /log-export/:name": {
    prepare: withHook({ path: "/log-export/hook" }),
    action: "log_export.remove",
    object: OBJECT,
  },
  "POST /log-export/:name/pause": {
    prepare: withHook({ path: "/log-export/hook/pause", json: { paused: true } }),
    action: "log_export.pause",
    object: OBJECT,
  },
  "POST /log-export/:name/secret": {
    prepare: withHook({ path: "/log-export/hook/secret", json: { version: 1 } }),
    action: "log_export.secret",
    object: OBJECT,
  },
  "POST /log-export/:name/test": {
    prepare: withHook({ path: "/log-export/hook/test" }),
    action: "log_export.test",
    object: OBJECT,
  },
};
