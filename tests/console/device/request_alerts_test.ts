// How an open page draws attention to a request: once for each request, and never beside a notification.

import { assertEquals } from "@std/assert";
import { RequestAlerts } from "../../../console/device/phone_app.ts";

function setUp({ isVisible = true, hasNotifications = false, stored = "" } = {}) {
  const events: string[] = [];
  const values = new Map(stored === "" ? [] : [["countersign-sound", stored]]);
  const alerts = new RequestAlerts({
    setTitle: (count) => void events.push(`title ${count}`),
    isVisible: () => isVisible,
    hasNotifications: () => hasNotifications,
    playSound: () => void events.push("sound"),
    vibrate: () => void events.push("vibration"),
    storage: {
      getItem: (key) => values.get(key) ?? null,
      setItem: (key, value) => void values.set(key, value),
    },
  });
  return { alerts, events, values };
}

Deno.test("RequestAlerts alerts once for each new request", () => {
  const { alerts, events } = setUp();
  alerts.update([]);
  alerts.update(["r1"]);
  alerts.update(["r1"]);
  alerts.update(["r1", "r2"]);
  alerts.update(["r2"]);
  assertEquals(events, [
    ...["title 0", "title 1", "vibration", "sound", "title 1"],
    ...["title 2", "vibration", "sound", "title 1"],
  ]);
});

Deno.test("RequestAlerts leaves a hidden page with notifications to the notification", () => {
  const silent = setUp({ isVisible: false, hasNotifications: true });
  silent.alerts.update(["r1"]);
  assertEquals(silent.events, ["title 1"]);
  const alone = setUp({ isVisible: false });
  alone.alerts.update(["r1"]);
  assertEquals(alone.events, ["title 1", "vibration", "sound"]);
});

Deno.test("RequestAlerts keeps the choice of the sound, and plays it when it is switched on", () => {
  const { alerts, events, values } = setUp({ stored: "off" });
  assertEquals(alerts.sound.value, false);
  alerts.update(["r1"]);
  alerts.setSound(true);
  assertEquals([events, values.get("countersign-sound")], [["title 1", "vibration", "sound"], "on"]);
  alerts.setSound(false);
  alerts.update(["r2"]);
  assertEquals([events.slice(3), values.get("countersign-sound")], [["title 1", "vibration"], "off"]);
});
