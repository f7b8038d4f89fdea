// The rows of the pages about what is connected: clients, targets, credentials.

import { FULL_CREDENTIAL } from "../../fakes/console_full.ts";
import { ALWAYS_SOMETHING, file, type PlaceRow } from "../place_row.ts";

export const CONNECT_ROWS: Readonly<Record<string, PlaceRow>> = {
  "clients": {
    place: "clients",
    path: () => "/clients",
    heading: () => "RADIUS clients",
    shows: () => "of-file",
    nothing: { says: "No RADIUS clients yet." },
    dialogs: [
      {
        file: file("connect/add_client_dialog"),
        name: "Add a client",
        steps: [["button", "Add a client"], ["see", "192.0.2.77"]],
      },
      {
        file: file("secret_once"),
        isSecret: true,
        name: "Shared secret of vpn-9",
        steps: [
          ["button", "Add a client"],
          ["fill", "Name", "vpn-9"],
          ["fill", "Addresses", "203.0.113.9"],
          ["button", "Add a client"],
        ],
      },
    ],
  },
  "client": {
    place: "client",
    path: () => "/clients/vpn-1",
    heading: () => "vpn-1",
    shows: () => "Packets since the start",
    nothing: { says: "No RADIUS client has that name.", path: "/clients/nobody" },
    dialogs: [
      {
        file: file("connect/client_review"),
        name: /vpn-1/,
        steps: [["fill", "NAS-Identifier", "vpn-of-2"], ["button", "Review changes"]],
      },
      {
        file: file("connect/client_dialogs"),
        name: "Rotate the secret of vpn-1",
        steps: [["button", "Rotate the secret"]],
      },
      {
        file: file("connect/client_dialogs"),
        name: "Remove the client vpn-1?",
        steps: [["button", "Remove the client"]],
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
    nothing: { says: /There is nothing here|no target/i, path: "/targets/nobody" },
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
        file: file("connect/credential_dialog"),
        name: "Add a credential",
        steps: [["button", "Add a credential"]],
      },
      {
        file: file("secret_once"),
        isSecret: true,
        name: "Password of payroll",
        steps: [["button", "Add a credential"], ["fill", "Name", "payroll"], ["button", "Add a credential"]],
      },
      {
        file: "pages/credentials_page.tsx",
        name: /^Revoke the credential/,
        steps: [["button", `Revoke ${FULL_CREDENTIAL}`]],
      },
    ],
  },
};
