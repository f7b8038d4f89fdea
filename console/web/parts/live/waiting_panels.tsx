// The pending approvals and the outbox, in one file that is loaded after the board.

export { ApprovalsPanel } from "./approvals_panel.tsx";
export { OutboxPanel } from "./outbox_panel.tsx";
