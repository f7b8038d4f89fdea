// What waits for somebody, in one file: it comes after the board.

export { ApprovalsPanel } from "./approvals_panel.tsx";
export { OutboxPanel } from "./outbox_panel.tsx";
