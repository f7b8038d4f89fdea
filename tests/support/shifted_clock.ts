// The gateway on a host whose clock is wrong by TEST_CLOCK_OFFSET_MS milliseconds. Timers are as usual.

const offsetMs = Number(Deno.env.get("TEST_CLOCK_OFFSET_MS") ?? "0");
const SystemDate = globalThis.Date;
const nowMs = (): number => SystemDate.now() + offsetMs;

globalThis.Date = new Proxy(SystemDate, {
  construct: (target, given: [] | [number]) =>
    given.length === 0 ? new target(nowMs()) : new target(...given),
  apply: () => new SystemDate(nowMs()).toString(),
  get: (target, name) => name === "now" ? nowMs : Reflect.get(target, name),
});

// The program is run, as `deno run main.ts` runs it; nothing of it is used here.
await import(new URL("../../main.ts", import.meta.url).href);
