// The rows of the pages about connected systems: clients, targets, credentials, identity providers, log export and alerts.

import { FULL_CONNECTION, FULL_CREDENTIAL, hearStranger } from "../../fakes/console_full.ts";
import { FULL_DESTINATION } from "../../fakes/console_log_export.ts";
import { FULL_RECEIVER } from "../../fakes/console_alerts.ts";
import { ALWAYS_SOMETHING, type PageRow } from "./page_row.ts";

// The rows of the pages about connected systems: clients, targets, credentials.

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
  "shadow mode": {
    place: "shadow",
    path: () => "/shadow",
    heading: () => "Shadow mode",
    shows: () => "EAP-MSCHAPv2",
    nothing: { says: "No client is in shadow mode." },
    dialogs: [
      {
        file: "components/form_dialog.tsx",
        name: /Remove the second factor of vpn-1/,
        steps: [["button", "Change to shadow mode"]],
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
    heading: () => "Directories",
    shows: () => "default",
    nothing: ALWAYS_SOMETHING,
    dialogs: [
      {
        file: "pages/targets/directory_dialogs.tsx",
        name: "Create directory",
        steps: [["button", "Create directory"]],
      },
    ],
  },
  "target": {
    place: "target",
    path: () => "/targets/default",
    heading: () => "default",
    shows: () => "Try changes on a real user",
    nothing: { says: /does not exist|no (target|directory)/i, path: "/targets/unknown" },
    dialogs: [
      {
        file: "pages/targets/connector_dialog.tsx",
        name: "Add connector",
        steps: [["button", "Add connector"]],
      },
      { file: "pages/targets/connector_list.tsx", name: "Remove ldap?", steps: [["button", "Remove ldap"]] },
      {
        file: "pages/targets/target_page.tsx",
        name: "Edit settings",
        steps: [["button", "Edit settings"]],
      },
      {
        file: "pages/targets/mapping_editor.tsx",
        name: "Change the mapping of default?",
        steps: [
          ["fill", "SCIM attribute", "title"],
          ["fill", "Name at the connectors", "jobTitle"],
          ["button", "Review mapping"],
        ],
      },
    ],
  },
  "credentials": {
    place: "credentials",
    path: () => "/credentials",
    heading: () => "Provisioning tokens",
    shows: () => FULL_CREDENTIAL,
    nothing: { says: "No provisioning tokens yet." },
    dialogs: [
      {
        file: "pages/credentials/credentials_page.tsx",
        name: "Add token",
        steps: [["button", "Add token"]],
      },
      {
        file: "components/form_dialog.tsx",
        isSecret: true,
        name: "Password of payroll",
        steps: [["button", "Add token"], ["fill", "Name", "payroll"], ["button", "Add token"]],
      },
      {
        file: "pages/credentials/credentials_page.tsx",
        name: /^Revoke the token/,
        steps: [["button", `Actions for ${FULL_CREDENTIAL}`], ["menuitem", "Revoke"]],
      },
    ],
  },
  "log export": {
    place: "log_export",
    path: () => "/log-export",
    heading: () => "Log export",
    shows: () => FULL_DESTINATION,
    nothing: { says: "There are no destinations." },
    dialogs: [
      {
        file: "pages/log_export/log_export_page.tsx",
        name: "Add destination",
        steps: [["button", "Add destination"], ["see", "Certificate authority"]],
      },
      {
        file: "pages/log_export/log_export_page.tsx",
        name: `Edit ${FULL_DESTINATION}`,
        steps: [["button", `Actions for ${FULL_DESTINATION}`], ["menuitem", "Edit"]],
      },
      {
        file: "pages/log_export/log_export_page.tsx",
        isSecret: true,
        name: "Signature secret of hook",
        steps: [["button", "Actions for hook"], ["menuitem", "New signature secret"]],
      },
      {
        file: "pages/log_export/log_export_page.tsx",
        name: `Remove the destination ${FULL_DESTINATION}?`,
        steps: [["button", `Actions for ${FULL_DESTINATION}`], ["menuitem", "Remove"]],
      },
    ],
  },
  "connections": {
    place: "connections",
    path: () => "/connections",
    heading: () => "Identity providers",
    shows: () => FULL_CONNECTION,
    nothing: { says: "No identity providers yet." },
    dialogs: [
      {
        file: "pages/connections/connect_dialog.tsx",
        name: "Connect Entra ID",
        steps: [["button", "Connect Entra ID"], ["see", "The identity provider creates and changes"]],
      },
      {
        file: "pages/connections/connect_dialog.tsx",
        isSecret: true,
        name: "Set up entra",
        steps: [["button", "Connect Entra ID"], ["button", "Connect"]],
      },
    ],
  },
  "connection": {
    place: "connection",
    path: () => `/connections/${FULL_CONNECTION}`,
    heading: () => FULL_CONNECTION,
    shows: () => "Create user",
    nothing: { says: "No connection has this name.", path: "/connections/unknown" },
    dialogs: [
      {
        file: "pages/connections/request_log.tsx",
        name: "Create user",
        steps: [["button", /^\d\d:\d\d:\d\d/]],
      },
    ],
  },
  "connection, existing users": {
    place: "connection",
    path: () => `/connections/${FULL_CONNECTION}#users`,
    heading: () => FULL_CONNECTION,
    shows: ({ user }) => user,
    nothing: ALWAYS_SOMETHING,
    part: true,
    dialogs: [
      {
        file: "pages/connections/existing_users.tsx",
        name: /^Refuse 1 user/,
        steps: [["checkbox", "Select bob"], ["button", /^Refuse$/]],
        smallSteps: [["checkbox", "Select bob"], ["button", "Actions for the selection"], [
          "menuitem",
          "Refuse",
        ]],
      },
    ],
  },
  "connection, settings": {
    place: "connection",
    path: () => `/connections/${FULL_CONNECTION}#settings`,
    heading: () => FULL_CONNECTION,
    shows: () => "Requests per minute",
    nothing: ALWAYS_SOMETHING,
    part: true,
    dialogs: [
      {
        file: "pages/connections/connection_page.tsx",
        name: /^Remove the connection/,
        steps: [["button", "Remove connection"]],
      },
      {
        file: "pages/connections/connection_settings.tsx",
        name: /^Save these changes/,
        steps: [["fill", "Requests per minute", "600"], ["button", "Review changes"]],
      },
    ],
  },
  "connection, secrets": {
    place: "connection",
    path: () => `/connections/${FULL_CONNECTION}#secrets`,
    heading: () => FULL_CONNECTION,
    shows: () => "Bearer token",
    nothing: ALWAYS_SOMETHING,
    part: true,
    dialogs: [
      {
        file: "pages/connections/secret_list.tsx",
        name: "Rotate",
        steps: [["button", /^Actions for Bearer token/], ["menuitem", "Rotate"]],
      },
      {
        file: "components/form_dialog.tsx",
        isSecret: true,
        name: "Secret of okta",
        steps: [["button", "Add secret"], ["button", "Add secret"]],
      },
      {
        file: "pages/connections/secret_list.tsx",
        name: /^Revoke this secret/,
        steps: [["button", /^Actions for Bearer token/], ["menuitem", "Revoke"]],
      },
    ],
  },
  "connection, setup": {
    place: "connection",
    path: () => `/connections/${FULL_CONNECTION}#setup`,
    heading: () => FULL_CONNECTION,
    shows: () => "Test the connection",
    nothing: ALWAYS_SOMETHING,
    part: true,
    dialogs: [],
  },
};

// The row of the page of alerts.

const RECEIVERS = "pages/alerts/receivers.tsx";

export const ALERT_ROWS: Readonly<Record<string, PageRow>> = {
  "alerts": {
    place: "alerts",
    path: () => "/alerts",
    heading: () => "Alerts",
    shows: () => FULL_RECEIVER,
    nothing: { says: "No alerts." },
    dialogs: [
      {
        file: RECEIVERS,
        name: "Add receiver",
        steps: [["button", "Add receiver"], ["see", "Mail addresses"]],
      },
      {
        file: RECEIVERS,
        name: `Edit ${FULL_RECEIVER}`,
        steps: [["button", `Actions for ${FULL_RECEIVER}`], ["menuitem", "Edit"]],
      },
      {
        file: RECEIVERS,
        isSecret: true,
        name: "Signature secret of chat",
        steps: [["button", "Actions for chat"], ["menuitem", "New signature secret"]],
      },
      {
        file: RECEIVERS,
        name: `Remove the receiver ${FULL_RECEIVER}?`,
        steps: [["button", `Actions for ${FULL_RECEIVER}`], ["menuitem", "Remove"]],
      },
    ],
  },
};
