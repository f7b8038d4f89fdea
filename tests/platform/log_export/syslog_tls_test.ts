// Syslog over TLS to a receiver that a test controls: frames, the closing handshake as the confirmation, and receivers with problems.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { type EcsRecord, toEcsRecord } from "../../../platform/log_export/ecs_fields.ts";
import { ChannelFault } from "../../../platform/log_export/log_channel.ts";
import { SyslogTlsChannel, type TlsConnection } from "../../../platform/log_export/syslog.ts";
import { createManualClock, settle } from "../../upstream/manual_clock.ts";

const SETTINGS = {
  ...{ host: "logs.example.com", port: 6514, ca: "", certificate: "", privateKey: "" },
  ...{ format: "json", facility: 10 } as const,
};

function record(object: string, more: Record<string, unknown> = {}): EcsRecord {
  const value = { atMs: 1_800_000_000_000, action: "user.created", actor: "scim:hr", object, ...more };
  return toEcsRecord({ id: `${object}-id`, value }, { observer: { hostName: "gate", version: "0" } });
}

/** One connection. The test ends it. */
class FakeConnection implements TlsConnection {
  readonly written: Uint8Array[] = [];
  isWriteClosed = false;
  isClosed = false;
  isSlow = false;
  /** The octets that one write takes. */
  takes = Infinity;
  readonly #end = Promise.withResolvers<"closed" | "reset" | "cut">();
  onCloseWrite: () => void = () => undefined;

  handshake(): Promise<void> {
    return Promise.resolve();
  }
  write(octets: Uint8Array): Promise<number> {
    if (this.isSlow) return new Promise(() => undefined);
    const taken = octets.slice(0, this.takes);
    this.written.push(taken);
    return Promise.resolve(taken.length);
  }
  async read(): Promise<number | null> {
    const end = await this.#end.promise;
    if (end === "reset") throw new Deno.errors.ConnectionReset("connection reset");
    if (end === "cut") throw new Deno.errors.UnexpectedEof("no close_notify");
    return null;
  }
  closeWrite(): Promise<void> {
    this.isWriteClosed = true;
    this.onCloseWrite();
    return Promise.resolve();
  }
  close(): void {
    this.isClosed = true;
    this.#end.resolve("closed");
  }
  end(how: "closed" | "reset" | "cut"): void {
    this.#end.resolve(how);
  }
  get octets(): Uint8Array {
    return Uint8Array.from(this.written.flatMap((octets) => [...octets]));
  }
}

function open(connections: readonly (FakeConnection | Error | "never")[]) {
  const clock = createManualClock();
  const options: Deno.ConnectTlsOptions[] = [];
  let at = 0;
  const channel = new SyslogTlsChannel({
    clock,
    connect: (given) => {
      options.push(given);
      const next = connections[at++];
      if (next === "never") return new Promise(() => undefined);
      return next instanceof FakeConnection
        ? Promise.resolve(next)
        : Promise.reject(next ?? new Error("refused"));
    },
  }, SETTINGS);
  /** Lets a task run while the clock advances. */
  const passing = async <T>(task: Promise<T>, totalMs: number): Promise<T> => {
    task.catch(() => undefined);
    for (let passedMs = 0; passedMs < totalMs; passedMs += 500) {
      await settle();
      clock.advance(500);
    }
    return await task;
  };
  return { clock, channel, options, passing };
}

async function codeOf(task: Promise<unknown>): Promise<string> {
  return (await assertRejects(() => task, ChannelFault)).code;
}

Deno.test("messages are framed by their octets, also if a write takes only a part", async () => {
  const receiver = new FakeConnection();
  receiver.takes = 100;
  const { channel } = open([receiver]);
  await channel.send([record("user:ädä"), record("user:b")]);
  let rest = receiver.octets;
  const messages: string[] = [];
  while (rest.length > 0) {
    const space = rest.indexOf(0x20);
    assert(space > 0);
    const length = Number(new TextDecoder().decode(rest.slice(0, space)));
    messages.push(new TextDecoder().decode(rest.slice(space + 1, space + 1 + length)));
    rest = rest.slice(space + 1 + length);
  }
  assertEquals(messages.map((text) => JSON.parse(text.slice(text.indexOf("{"))).user.target.name), [
    "ädä",
    "b",
  ]);
});

for (const how of ["closed", "cut"] as const) {
  Deno.test(`a receiver that then closes its side (${how}) has the records`, async () => {
    const receiver = new FakeConnection();
    receiver.onCloseWrite = () => receiver.end(how);
    const { channel, passing } = open([receiver]);
    await channel.send([record("user:a")]);
    await passing(channel.confirm(), 2000);
    assertEquals([receiver.isWriteClosed, receiver.isClosed], [true, true]);
  });
}

Deno.test("a receiver that closes first may not have the last records", async () => {
  const receiver = new FakeConnection();
  const { channel, passing } = open([receiver]);
  await channel.send([record("user:a")]);
  const confirming = channel.confirm();
  receiver.end("closed");
  assertEquals(await codeOf(passing(confirming, 2000)), "connection_lost");
  assertEquals(receiver.isClosed, true);
});

Deno.test("a reset after the end of this side is a lost connection", async () => {
  const receiver = new FakeConnection();
  receiver.onCloseWrite = () => receiver.end("reset");
  const { channel, passing } = open([receiver]);
  await channel.send([record("user:a")]);
  assertEquals(await codeOf(passing(channel.confirm(), 2000)), "connection_lost");
});

Deno.test("a receiver that never closes counts if it accepts another connection", async () => {
  const [first, second] = [new FakeConnection(), new FakeConnection()];
  const { channel, passing } = open([first, second]);
  await channel.send([record("user:a")]);
  await passing(channel.confirm(), 15_000);
  assertEquals([first.isClosed, second.isClosed, second.written.length], [true, true, 0]);
});

Deno.test("a receiver that never closes and accepts no other connection has not confirmed", async () => {
  const receiver = new FakeConnection();
  const { channel, passing } = open([receiver, new Error("Connection refused")]);
  await channel.send([record("user:a")]);
  assertEquals(await codeOf(passing(channel.confirm(), 15_000)), "not_confirmed");
});

Deno.test("a receiver that does not read is slow, and the connection ends", async () => {
  const receiver = new FakeConnection();
  receiver.isSlow = true;
  const { channel, passing } = open([receiver]);
  assertEquals(await codeOf(passing(channel.send([record("user:a")]), 31_000)), "slow");
  channel.close();
  assertEquals(receiver.isClosed, true);
});

Deno.test("a connection that ended is noticed at the next record", async () => {
  const receiver = new FakeConnection();
  const { channel } = open([receiver]);
  await channel.send([record("user:a")]);
  receiver.end("reset");
  await settle();
  assertEquals(await codeOf(channel.send([record("user:b")])), "connection_lost");
});

Deno.test("no connection in time", async () => {
  const { channel, passing } = open(["never"]);
  assertEquals(await codeOf(passing(channel.send([record("user:a")]), 11_000)), "timeout");
});

const REFUSALS: readonly (readonly [string, string])[] = [
  ["Connection refused (os error 111)", "unreachable"],
  ["failed to lookup address information: Name or service not known", "name_not_found"],
  ["invalid peer certificate: UnknownIssuer", "certificate"],
  ["received fatal alert: CertificateRequired", "certificate"],
  ["something else", "unreachable"],
];

for (const [message, code] of REFUSALS) {
  Deno.test(`a connection that fails with "${message}" is ${code}`, async () => {
    const { channel } = open([new Error(message)]);
    assertEquals(await codeOf(channel.send([record("user:a")])), code);
  });
}

Deno.test("authorities and the client certificate are used", async () => {
  const receiver = new FakeConnection();
  const options: unknown[] = [];
  const channel = new SyslogTlsChannel({
    clock: createManualClock(),
    connect: (given) => {
      options.push(given);
      return Promise.resolve(receiver);
    },
  }, { ...SETTINGS, ca: "CA", certificate: "CERT", privateKey: "KEY" });
  await channel.send([record("user:a")]);
  assertEquals(options, [
    { hostname: "logs.example.com", port: 6514, caCerts: ["CA"], cert: "CERT", key: "KEY" },
  ]);
});
