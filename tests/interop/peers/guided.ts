// Real VPN servers with the configuration of the setup guides (platform/client_guides.ts).

import { CLIENT_GUIDES, type ClientGuideId, fillGuide } from "../../../platform/client_guides.ts";
import type { Door } from "./login.ts";

export const GUIDED_CLIENT = "vpn-guide";

/** The file of a guide by its title, filled in. Paths below `from` are moved to the folder of the test. */
export function guideText(
  id: ClientGuideId,
  title: string,
  { gateway, accountingPort, moved = [] }: {
    gateway: Door;
    accountingPort?: number;
    moved?: readonly (readonly [from: string, to: string])[];
  },
): string {
  const block = CLIENT_GUIDES[id].blocks.find((one) => one.title === title);
  if (block === undefined) throw new Error(`The guide ${id} has no part "${title}"`);
  const text = fillGuide(block.text, {
    server: "127.0.0.1",
    port: gateway.port,
    accountingPort: accountingPort ?? gateway.port,
    tlsPort: gateway.port,
    client: GUIDED_CLIENT,
    nas: "127.0.0.1",
    secret: gateway.secret,
    holdS: 25,
  });
  return moved.reduce((shown, [from, to]) => shown.replaceAll(from, to), text);
}
