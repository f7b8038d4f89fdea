// Attack: tokens of phones that are not paired, which anyone can get, use up all event streams of the phone page.

import { assertEquals } from "@std/assert";
import { startConsole } from "../fakes/console_app.ts";

Deno.test("streams of phones without a pairing are limited for each source, and paired phones have their own", async () => {
  await using site = await startConsole();
  const phone = async (): Promise<string> => {
    const started = await site.call("/device/api/phrase", { method: "POST", json: {} });
    await started.body?.cancel();
    return (started.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
  };
  const open: Response[] = [];
  const stream = async (cookie: string): Promise<number> => {
    const response = await site.call("/device/api/stream", { cookie });
    open.push(response);
    return response.status;
  };
  const cookies = await Promise.all(Array.from({ length: 5 }, phone));
  const statuses: number[] = [];
  for (let at = 0; at < 25; at++) statuses.push(await stream(cookies[at % cookies.length] ?? ""));
  assertEquals(statuses.filter((status) => status === 200).length, 20);
  assertEquals(statuses.slice(20), [503, 503, 503, 503, 503]);
  for (const response of open) await response.body?.cancel();
});
