// A step of the scenario: a receiver of alerts, and what the node that watches stores. The gateways of the scenario serve no HTTP, so they watch for
// nothing.

import { pendingMutation } from "../../platform/alerts/alert_delivery.ts";
import type { PendingMessage } from "../../platform/alerts/alert_messages.ts";
import { alertMutations, deliveryMutation, type KnownAlert } from "../../platform/alerts/alert_record.ts";
import { emptyCounts } from "../../platform/alerts/alert_rules.ts";
import { cursorMutation } from "../../platform/alerts/alert_watcher.ts";
import { receiverStateKey } from "../../platform/alerts/receiver.ts";
import type { ScenarioStep } from "./scenario.ts";

export const ALERT_STEP: Readonly<Record<string, ScenarioStep>> = {
  async "an alert that waits for its receiver"({ gateway: { operator, clock, store } }) {
    const url = "https://hooks.example.com/in";
    await operator.send("POST", "/alerts/receivers", { name: "chat", kind: "webhook", url });
    const atMs = clock.nowMs();
    const id = "0mywpnabs-0001020304";
    const alert: KnownAlert = {
      ...{ id, kind: "user_locked", severity: "warning", about: "user:hans", values: { user: "hans" } },
      ...{ count: 1, openedMs: atMs, lastMs: atMs, endedMs: null, notifiedMs: atMs, notifiedCount: 1 },
    };
    const problem = { code: "unreachable", detail: "Connection refused" } as const;
    const pending: PendingMessage = {
      ...{ message: "opened", severity: "warning", budget: "warning" },
      ...{ count: 0, queuedMs: atMs, attempts: 1, nextMs: atMs },
    };
    await store.commit({
      mutations: [
        ...alertMutations(alert),
        deliveryMutation(id, "chat", { state: "pending", atMs, problem }),
        pendingMutation({ receiver: "chat", id }, pending),
        cursorMutation({
          ...{ position: { upTo: "", nodes: {} }, counts: emptyCounts(atMs) },
          budgets: { chat: { warning: { sinceMs: atMs, sent: 1, leftOut: 0 } } },
        }),
        {
          type: "set",
          key: receiverStateKey("chat"),
          value: { createdMs: atMs, lastSentMs: null, problem: { ...problem, sinceMs: atMs } },
        },
      ],
    });
    await operator.send("POST", `/alerts/${id}/acknowledge`, { count: 1 });
  },
};
