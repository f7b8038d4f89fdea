// The guided setup, and the tabs of a connection besides its requests, in one file: the first one that is opened loads all of them.

export { ConnectDialog } from "./connect_dialog.tsx";
export { ConnectionSettingsForm } from "./connection_settings.tsx";
export { ExistingUsers } from "./existing_users.tsx";
export { SecretList } from "./secret_list.tsx";
export { SetupSteps } from "./setup_steps.tsx";
