// The table of peers that log in to the gateway.

import { AUTHEN_RADIUS } from "./authen_radius.ts";
import { FREERADIUS_PROXY, RADSECPROXY } from "./proxies.ts";
import type { PeerRow } from "./login.ts";
import { OPENCONNECT } from "./openconnect.ts";
import { PAM } from "./pam.ts";
import { radclientRow } from "./radclient.ts";

export const PEER_ROWS: readonly PeerRow[] = [
  radclientRow({ title: "radclient", nasPort: true, signed: true }),
  radclientRow({ title: "radclient without NAS-Port", nasPort: false, signed: false }),
  PAM,
  FREERADIUS_PROXY,
  RADSECPROXY,
  AUTHEN_RADIUS,
  OPENCONNECT,
];
