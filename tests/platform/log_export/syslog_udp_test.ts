// Syslog over UDP: one message per datagram, no longer than receivers accept, and sockets that fail.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { type EcsRecord, toEcsRecord } from "../../../platform/log_export/ecs_fields.ts";
import { ChannelFault } from "../../../platform/log_export/log_channel.ts";
import { SyslogUdpChannel } from "../../../platform/log_export/syslog.ts";

const SETTINGS = { host: "192.0.2.9", port: 514, format: "json", facility: 10 } as const;

function record(object: string): EcsRecord {
  const value = { atMs: 1, action: "user.created", actor: "scim:hr", object, before: "x".repeat(3000) };
  return toEcsRecord({ id: `${object}-id`, value }, { observer: { hostName: "gate", version: "0" } });
}

function open(send: (octets: Uint8Array) => Promise<number>) {
  const sent: [string, number][] = [];
  const opened: boolean[] = [];
  let pauses = 0;
  const channel = new SyslogUdpChannel({
    clock: {
      after(_delayMs, task) {
        pauses++;
        queueMicrotask(task);
        return () => undefined;
      },
    },
    open(isIpv6) {
      opened.push(isIpv6);
      return {
        send(octets, to) {
          sent.push([`${to.hostname}:${to.port}`, octets.length]);
          return send(octets);
        },
        close: () => undefined,
      };
    },
  }, SETTINGS);
  return { channel, sent, opened, pauses: () => pauses };
}

Deno.test("each record is one datagram of at most 2,048 octets, and a backlog is sent with pauses", async () => {
  const { channel, sent, opened, pauses } = open((octets) => Promise.resolve(octets.length));
  await channel.send(Array.from({ length: 30 }, (_, at) => record(`user:${at}`)));
  await channel.confirm();
  assertEquals(sent.length, 30);
  assert(sent.every(([to, length]) => to === "192.0.2.9:514" && length <= 2048));
  assertEquals([opened, pauses()], [[false], 3]);
});

Deno.test("a socket that fails is opened again", async () => {
  let isBroken = true;
  const { channel, opened } = open((octets) =>
    isBroken ? Promise.reject(new Error("No route to host")) : Promise.resolve(octets.length)
  );
  const fault = await assertRejects(() => channel.send([record("user:a")]), ChannelFault);
  assertEquals(fault.code, "unreachable");
  isBroken = false;
  await channel.send([record("user:a")]);
  assertEquals(opened.length, 2);
  channel.close();
});
