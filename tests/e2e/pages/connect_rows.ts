// The rows of the pages about connected systems: clients, targets, credentials.

import { FULL_CREDENTIAL, hearStranger } from "../../fakes/console_full.ts";
import { ALWAYS_SOMETHING, type PageRow } from "./page_row.ts";

export const CONNECT_ROWS: Readonly<Record<string, PageRow>> = {
  "clients": {
    place: "clients",
    path: () => "/clients",
    heading: () => "RADIUS clients",
    shows: () => "of-file",
    nothing: { says: "No RADIUS clients yet." },
    before: (site) => hearStranger(site, site.names),
    dialogs: [
      {
        file: "pages/clients/client_dialogs.tsx",
        name: "Add client",
        steps: [["button", "Add client"], ["see", "192.0.2.77"]],
      },
      {
        file: "components/form_dialog.tsx",
        isSecret: true,
        name: "Shared secret of vpn-9",
        steps: [
          ["button", "Add client"],
          ["fill", "Name", "vpn-9"],
          ["fill", "Addresses", "203.0.113.9"],
          ["button", "Add client"],
        ],
      },
    ],
  },
  "client": {
    place: "client",
    path: () => "/clients/vpn-1",
    heading: () => "vpn-1",
    shows: () => "Packets since the last start",
    nothing: { says: "No RADIUS client has this name.", path: "/clients/unknown" },
    dialogs: [
      {
        file: "pages/clients/client_page.tsx",
        name: /vpn-1/,
        steps: [["fill", "NAS-Identifier", "vpn-of-2"], ["button", "Review changes"]],
      },
      {
        file: "pages/clients/client_dialogs.tsx",
        name: "Rotate the secret of vpn-1",
        steps: [["button", "Rotate secret"]],
      },
      {
        file: "pages/clients/client_dialogs.tsx",
        name: "Remove the client vpn-1?",
        steps: [["button", "Remove client"]],
      },
    ],
  },
  "client of the settings file": {
    place: "client",
    path: () => "/clients/of-file",
    heading: () => "of-file",
    shows: () => "This client is defined in the settings file.",
    nothing: ALWAYS_SOMETHING,
    part: true,
    dialogs: [],
  },
  "targets": {
    place: "targets",
    path: () => "/targets",
    heading: () => "Targets",
    shows: () => "default",
    nothing: ALWAYS_SOMETHING,
    dialogs: [],
  },
  "target": {
    place: "target",
    path: () => "/targets/default",
    heading: () => "default",
    shows: () => "Try another mapping on a real user.",
    nothing: { says: /does not exist|no target/i, path: "/targets/unknown" },
    dialogs: [],
  },
  "credentials": {
    place: "credentials",
    path: () => "/credentials",
    heading: () => "SCIM credentials",
    shows: () => FULL_CREDENTIAL,
    nothing: { says: "No SCIM credentials yet." },
    dialogs: [
      {
        file: "pages/credentials/credentials_page.tsx",
        name: "Add credential",
        steps: [["button", "Add credential"]],
      },
      {
        file: "components/form_dialog.tsx",
        isSecret: true,
        name: "Password of payroll",
        steps: [["button", "Add credential"], ["fill", "Name", "payroll"], ["button", "Add credential"]],
      },
      {
        file: "pages/credentials/credentials_page.tsx",
        name: /^Revoke the credential/,
        steps: [["button", `Revoke ${FULL_CREDENTIAL}`]],
      },
    ],
  },
};
