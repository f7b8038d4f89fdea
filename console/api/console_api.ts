// The console's API below /console/api: authentication, then the routes.

import { Hono } from "hono";
import { type AdminRouteDeps, createAdminRoutes, createInvitationRoutes } from "./auth/admin_routes.ts";
import { type AlertRouteDeps, createAlertRoutes } from "./alerts/alert_routes.ts";
import { observeAlertStates } from "./alerts/alert_states.ts";
import { createAuditRoutes } from "./audit/audit_log.ts";
import { type ApprovalRouteDeps, createApprovalRoutes } from "./approvals/approval_routes.ts";
import { createLiveRoutes, type LiveRouteDeps } from "./conversations/live_routes.ts";
import { type ChartRouteDeps, createChartRoutes } from "./charts/chart_routes.ts";
import { type ClientRouteDeps, createClientRoutes } from "./clients/client_routes.ts";
import { type ConnectedRouteDeps, createConnectedRoutes } from "./accounting_sessions/session_routes.ts";
import { type ConnectionRouteDeps, createConnectionRoutes } from "./connections/connection_routes.ts";
import { createCredentialRoutes, type CredentialRouteDeps } from "./credentials/credential_routes.ts";
import { createFactorRoutes, type FactorRouteDeps } from "./auth/factor_routes.ts";
import { createFindRoutes, type FindRouteDeps } from "./find/find_routes.ts";
import { createHealthRoutes, type Health, type HealthRouteDeps } from "./health/health.ts";
import { createHistoryRoutes, type HistoryRouteDeps } from "./history/history.ts";
import { type BulkRouteDeps, createBulkRoutes } from "./users/bulk_routes.ts";
import { createDeviceRoutes, type DeviceRouteDeps } from "./devices/device_routes.ts";
import {
  createExportRoutes,
  createImportRoutes,
  type ExportRouteDeps,
  type ImportRouteDeps,
} from "./imports/import_export_routes.ts";
import { createGroupNameRoutes, createGroupRoutes, type GroupRouteDeps } from "./groups/group_routes.ts";
import { createLogExportRoutes, type LogExportRouteDeps } from "./log_export/log_export_routes.ts";
import { createFirstStepRoutes, type FirstStepRouteDeps } from "./onboarding/onboarding.ts";
import { createEnrolmentRoutes, type EnrolmentRouteDeps } from "./enrolment/enrolment_routes.ts";
import { createHelpDeskRoutes, type HelpDeskRouteDeps } from "./help_desk/help_desk_routes.ts";
import { createDownloadLimit } from "./file_export.ts";
import type { HttpEnv } from "./hono_env.ts";
import { createMailRoutes, type MailRouteDeps } from "./mail/mail_routes.ts";
import { createNodeRoutes, type NodeRouteDeps } from "./nodes/node_routes.ts";
import { createNoticeRoutes, type NoticeRouteDeps } from "./notices/notices.ts";
import { createOidcRoutes, type OidcRouteDeps } from "./auth/oidc_routes.ts";
import { createOutboxRoutes, type OutboxRouteDeps } from "./outbox/outbox_routes.ts";
import { type AuthDeps, createAuthMiddleware } from "./auth/auth_middleware.ts";
import {
  createSessionListRoutes,
  createSessionRoutes,
  createSetUpRoutes,
  type SessionListDeps,
  type SetUpRouteDeps,
} from "./auth/session_routes.ts";
import { createOverviewRoutes, type OverviewRouteDeps } from "./overview/overview_routes.ts";
import { EnrolmentCounter } from "./reports/enrolment_counter.ts";
import { createReportRoutes, type ReportRouteDeps } from "./reports/report_routes.ts";
import { createSavedFilterRoutes, type SavedFilterRouteDeps } from "./saved_filters/saved_filters.ts";
import { createPolicyRoutes, type PolicyRouteDeps } from "./policies/policy_routes.ts";
import { createSettingRoutes, type SettingRouteDeps } from "./settings/setting_routes.ts";
import { createShadowRoutes, type ShadowRouteDeps } from "./shadow/shadow_routes.ts";
import { createTargetRoutes, type TargetRouteDeps } from "./targets/target_routes.ts";
import {
  createTargetSettingRoutes,
  type TargetSettingDeps,
} from "./target_settings/target_setting_routes.ts";
import { createTokenRoutes, type TokenRouteDeps } from "./auth/api_tokens.ts";
import { createHardwareTokenRoutes, type HardwareTokenRouteDeps } from "./tokens/hardware_token_routes.ts";
import { createSupportRoutes, type SupportRouteDeps } from "./support/support_bundle.ts";
import { createTrashRoutes, type TrashRouteDeps } from "./trash/trash_routes.ts";
import { createGroupReplyRoutes, createUserReplyRoutes, type ReplyDeps } from "./replies/reply_routes.ts";
import { createUserRoutes, type UserRouteDeps } from "./users/user_routes.ts";

export type ConsoleApiDeps =
  & AuthDeps
  & SetUpRouteDeps
  & OidcRouteDeps
  & FactorRouteDeps
  & SessionListDeps
  & AdminRouteDeps
  & TokenRouteDeps
  & LiveRouteDeps
  & FirstStepRouteDeps
  & HistoryRouteDeps
  & FindRouteDeps
  & ConnectedRouteDeps
  & SettingRouteDeps
  & ChartRouteDeps
  & OverviewRouteDeps
  & ReportRouteDeps
  & EnrolmentRouteDeps
  & ApprovalRouteDeps
  & OutboxRouteDeps
  & SavedFilterRouteDeps
  & NoticeRouteDeps
  & ClientRouteDeps
  & ShadowRouteDeps
  & PolicyRouteDeps
  & TargetRouteDeps
  & TargetSettingDeps
  & CredentialRouteDeps
  & ConnectionRouteDeps
  & HealthRouteDeps
  & { readonly health: Health | null }
  & SupportRouteDeps
  & NodeRouteDeps
  & MailRouteDeps
  & LogExportRouteDeps
  & AlertRouteDeps
  & GroupRouteDeps
  & ReplyDeps
  & DeviceRouteDeps
  & HardwareTokenRouteDeps
  & BulkRouteDeps
  & ImportRouteDeps
  & ExportRouteDeps
  & TrashRouteDeps
  & UserRouteDeps
  & HelpDeskRouteDeps;

export const CONSOLE_API_PATH = "/console/api";

/** For the typed client: `hc<ConsoleApi>("/console/api")`. */
export type ConsoleApi = ReturnType<typeof createConsoleApi>;

export function createConsoleApi(deps: ConsoleApiDeps) {
  const { people, health } = deps;
  // One for both pages, so that they show the same count.
  const counter = people === undefined ? null : new EnrolmentCounter({ ...deps, people });
  observeAlertStates(deps, health);
  return new Hono<HttpEnv>()
    .use(createAuthMiddleware(deps), createDownloadLimit())
    .route("/session", createSessionRoutes(deps))
    .route("/setup", createSetUpRoutes(deps))
    .route("/oidc", createOidcRoutes(deps))
    .route("/factors", createFactorRoutes(deps))
    .route("/sessions", createSessionListRoutes(deps))
    .route("/administrators", createAdminRoutes(deps))
    .route("/invitations", createInvitationRoutes(deps))
    .route("/tokens", createTokenRoutes(deps))
    .route("/live", createLiveRoutes(deps))
    .route("/first-steps", createFirstStepRoutes(deps))
    .route("/history", createHistoryRoutes(deps))
    .route("/audit", createAuditRoutes(deps))
    .route("/find", createFindRoutes(deps))
    .route("/settings", createSettingRoutes(deps))
    .route("/charts", createChartRoutes(deps))
    .route("/overview", createOverviewRoutes(deps, counter))
    .route("/reports", createReportRoutes(deps, counter))
    .route("/enrolment", createEnrolmentRoutes(deps))
    .route("/approvals", createApprovalRoutes(deps))
    .route("/users", createUserRoutes(deps).route("/", createUserReplyRoutes(deps)))
    .route("/users", createHelpDeskRoutes(deps))
    .route("/trash", createTrashRoutes(deps))
    .route("/group-names", createGroupNameRoutes(deps))
    .route("/clients", createClientRoutes(deps))
    .route("/shadow", createShadowRoutes(deps))
    .route("/policies", createPolicyRoutes(deps))
    .route("/targets", createTargetRoutes(deps))
    .route("/target-settings", createTargetSettingRoutes(deps))
    .route("/credentials", createCredentialRoutes(deps))
    .route("/connections", createConnectionRoutes(deps))
    .route("/health", createHealthRoutes(deps, health))
    .route("/mail", createMailRoutes(deps))
    .route("/nodes", createNodeRoutes(deps))
    .route("/groups", createGroupRoutes(deps).route("/", createGroupReplyRoutes(deps)))
    .route("/devices", createDeviceRoutes(deps))
    .route("/hardware-tokens", createHardwareTokenRoutes(deps))
    .route("/", createBulkRoutes(deps))
    .route("/", createConnectedRoutes(deps))
    .route("/imports", createImportRoutes(deps))
    .route("/export", createExportRoutes(deps))
    .route("/notices", createNoticeRoutes(deps))
    .route("/outbox", createOutboxRoutes(deps))
    .route("/saved-filters", createSavedFilterRoutes(deps))
    .route("/log-export", createLogExportRoutes(deps))
    .route("/alerts", createAlertRoutes(deps))
    .route("/support", createSupportRoutes(deps));
}
