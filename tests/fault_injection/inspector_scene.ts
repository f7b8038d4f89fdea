// A scene in its own process, because it needs port 9229: SIGUSR1 to a gateway that holds the port, and a gateway that
// finds it in use. Prints the result as one line of JSON.

import { type RunningProgram, startProgram } from "../support/program.ts";

/** The result. */
export interface InspectorScene {
  /** Another process held the port before, so the inspector could not be tested. */
  readonly portWasTaken: boolean;
  readonly answersAfterSignal: boolean;
  /** The answer of an inspector on the port; `null` without an answer. */
  readonly inspectorAnswer: string | null;
  readonly debuggerInLog: boolean;
  readonly warnsOfTakenPort: boolean;
  readonly answersBesideTakenPort: boolean;
}

const ADDRESS = { hostname: "127.0.0.1", port: 9229 } as const;

async function answers(gateway: RunningProgram): Promise<boolean> {
  using client = gateway.client();
  const reply = await client.ask({ userName: "ada", password: "x", nasPort: Date.now() % 100_000 });
  return reply.code === 11 && reply.problems.length === 0;
}

async function askInspector(): Promise<string | null> {
  try {
    const answer = await fetch(`http://${ADDRESS.hostname}:${ADDRESS.port}/json/list`, {
      signal: AbortSignal.timeout(2000),
    });
    return await answer.text();
  } catch (_noAnswer) {
    return null;
  }
}

function tryListen(): Deno.TcpListener | null {
  try {
    return Deno.listen(ADDRESS);
  } catch (_taken) {
    return null;
  }
}

async function play(): Promise<InspectorScene> {
  const probe = tryListen();
  probe?.close();
  await using holding = await startProgram();
  // At once, before the runtime listens for the signal, and later, when it does.
  for (const waitMs of [1500, 250]) {
    Deno.kill(holding.pid, "SIGUSR1");
    await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
  const inspectorAnswer = await askInspector();
  const answersAfterSignal = await answers(holding);
  const debuggerInLog = holding.logLines().some((line) => /debugger listening/i.test(line));
  await holding.stop();
  const taken = tryListen();
  await using beside = await startProgram();
  const seen = {
    portWasTaken: probe === null,
    answersAfterSignal,
    inspectorAnswer,
    debuggerInLog,
    warnsOfTakenPort: beside.logLines().some((line) => line.includes("another program uses port 9229")) ||
      (await beside.logged("another program uses port 9229")).length > 0,
    answersBesideTakenPort: await answers(beside),
  };
  taken?.close();
  return seen;
}

console.log(JSON.stringify(await play()));
