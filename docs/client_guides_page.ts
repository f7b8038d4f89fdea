// The page of the setup guides, from platform/client_guides.ts and the English catalogue.

import en from "../console/web/i18n/en.json" with { type: "json" };
import {
  CLIENT_GUIDES,
  type ClientGuide,
  type ClientGuideId,
  DISCONNECT_GUIDES,
  fillGuide,
  GUIDE_REMARKS,
  type GuideValues,
} from "../platform/client_guides.ts";

const INTRODUCTION = `<!-- deno-fmt-ignore-file -->

# Setup guides

Generated from the table of guides by \`deno task docs\`; do not edit.

The page of a RADIUS client in the console shows these guides, filled in with its own values. Here, the gateway is \`192.0.2.5\`, the client
\`vpn-1\` is \`192.0.2.10\`, and \`hold_s\` has its default, 25 seconds. Replace \`SHARED_SECRET\`. With \`hold\`, all tries of a client together
take longer than \`hold_s\`. See [RADIUS clients](radius-clients.md) for the settings of a client, and
[VPNs and authentication methods](vpn-methods.md) for the methods of each product.

A guide that says "tested" runs in the tests of this repository with the real programs of Debian 12 (\`tests/interop/peers_test.ts\`,
\`tests/interop/wire_test.ts\`, \`tests/interop/eap_relay_test.ts\`, \`tests/interop/ike_test.ts\`). The others follow the documentation of the vendor and have not been tested.
`;

const EXAMPLE: GuideValues = {
  server: "192.0.2.5",
  port: 1812,
  accountingPort: 1813,
  tlsPort: 2083,
  client: "vpn-1",
  nas: "192.0.2.10",
  secret: "SHARED_SECRET",
  holdS: 25,
};

const TEXTS: Readonly<Record<string, unknown>> = en;

function remark(id: string, at: number): string {
  const text = TEXTS[`clients.guide_${id}_${at}`];
  if (typeof text !== "string") {
    throw new Error(`Cannot write docs/client-guides.md: ${id} has no remark ${at}`);
  }
  return text;
}

function section(id: ClientGuideId, guide: ClientGuide): string {
  const disconnect = DISCONNECT_GUIDES[id];
  const { product, testedWith, device, eap, messageAuthenticator, blocks, test, sources } = guide;
  const settings = [
    ...eap === "relay" ? ['first_factor = "radius"'] : [],
    ...eap === undefined ? [`device = "${device}"`] : [`eap = "${eap}"`],
    `message_authenticator = "${messageAuthenticator}"`,
  ];
  const code = (text: string) => `\`\`\`\n${fillGuide(text, EXAMPLE).trimEnd()}\n\`\`\`\n`;
  return [
    `## ${product}\n`,
    testedWith === null ? "Not tested with this product.\n" : `Tested with ${testedWith}.\n`,
    `Client: ${settings.map((one) => `\`${one}\``).join(", ")}.\n`,
    ...blocks.map(({ title, text }) => `${title}:\n\n${code(text)}`),
    `${GUIDE_REMARKS.map((at) => `- ${remark(id, at)}`).join("\n")}\n`,
    disconnect.port === null
      ? "The product does not accept Disconnect-Requests. End a session by hand:\n"
      : `The product accepts [Disconnect-Requests](disconnect.md). Enable them, and set \`disconnect_port = ${disconnect.port}\`:\n`,
    `${disconnect.title}:\n\n${code(disconnect.text)}`,
    `Test a sign-in:\n\n${code(test)}`,
    `Sources: ${sources.join(", ")}\n`,
  ].join("\n");
}

export function clientGuidesPage(): string {
  const sections = Object.entries<ClientGuide>(CLIENT_GUIDES).map(([id, guide]) =>
    section(id as ClientGuideId, guide)
  );
  return [INTRODUCTION, ...sections].join("\n");
}
