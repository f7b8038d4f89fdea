// The console's API below /console/api: the checks that every route shares, then the routes.

import { Hono } from "hono";
import {
  type AdministratorRouteDeps,
  createAdministratorRoutes,
  createInvitationRoutes,
} from "./sign_in/administrator_routes.ts";
import { createAuditRoutes } from "./govern/audit_routes.ts";
import { type ApprovalRouteDeps, createApprovalRoutes } from "./live/approval_routes.ts";
import { type ChartRouteDeps, createChartRoutes } from "./live/chart_routes.ts";
import { type ClientRouteDeps, createClientRoutes } from "./connect/client_routes.ts";
import { type ConnectedRouteDeps, createConnectedRoutes } from "./live/connected_routes.ts";
import { createCredentialRoutes, type CredentialRouteDeps } from "./connect/credential_routes.ts";
import { createFactorRoutes, type FactorRouteDeps } from "./sign_in/factor_routes.ts";
import { createHealthRoutes, type HealthRouteDeps } from "./connect/health_routes.ts";
import { createHistoryRoutes, type HistoryRouteDeps } from "./live/history_routes.ts";
import { type BulkRouteDeps, createBulkRoutes } from "./people/bulk_routes.ts";
import { createDeviceRoutes, type DeviceRouteDeps } from "./people/device_routes.ts";
import { createExportRoutes, type ExportRouteDeps } from "./people/export_routes.ts";
import { createGroupReplyRoutes, type GroupReplyDeps } from "./people/group_reply_routes.ts";
import { createGroupRoutes, type GroupRouteDeps } from "./people/group_routes.ts";
import { createImportRoutes, type ImportRouteDeps } from "./people/import_routes.ts";
import { createGroupNameRoutes } from "./people/group_name_routes.ts";
import { createFirstStepRoutes, type FirstStepRouteDeps } from "./live/first_step_routes.ts";
import type { HttpEnv } from "./http_env.ts";
import { createLiveRoutes, type LiveRouteDeps } from "./live/live_routes.ts";
import { createNoticeRoutes, type NoticeRouteDeps } from "./live/notice_routes.ts";
import { createOidcRoutes, type OidcRouteDeps } from "./sign_in/oidc_routes.ts";
import { createOutboxRoutes, type OutboxRouteDeps } from "./live/outbox_routes.ts";
import { type AuthDeps, createAuthMiddleware } from "./auth_middleware.ts";
import { createSessionListRoutes, type SessionListDeps } from "./sign_in/session_list_routes.ts";
import { createSessionRoutes } from "./sign_in/session_routes.ts";
import { createSettingRoutes, type SettingRouteDeps } from "./govern/setting_routes.ts";
import { createSetUpRoutes, type SetUpRouteDeps } from "./sign_in/setup_routes.ts";
import { createTargetRoutes, type TargetRouteDeps } from "./connect/target_routes.ts";
import { createTokenRoutes, type TokenRouteDeps } from "./sign_in/token_routes.ts";
import { createUserRoutes, type UserRouteDeps } from "./people/user_routes.ts";

export type ConsoleApiDeps =
  & AuthDeps
  & SetUpRouteDeps
  & OidcRouteDeps
  & FactorRouteDeps
  & SessionListDeps
  & AdministratorRouteDeps
  & TokenRouteDeps
  & LiveRouteDeps
  & FirstStepRouteDeps
  & HistoryRouteDeps
  & ConnectedRouteDeps
  & SettingRouteDeps
  & ChartRouteDeps
  & ApprovalRouteDeps
  & OutboxRouteDeps
  & NoticeRouteDeps
  & ClientRouteDeps
  & TargetRouteDeps
  & CredentialRouteDeps
  & HealthRouteDeps
  & GroupRouteDeps
  & GroupReplyDeps
  & DeviceRouteDeps
  & BulkRouteDeps
  & ImportRouteDeps
  & ExportRouteDeps
  & UserRouteDeps;

export const CONSOLE_API_PATH = "/console/api";

/** For the typed client: `hc<ConsoleApi>("/console/api")`. */
export type ConsoleApi = ReturnType<typeof createConsoleApi>;

export function createConsoleApi(deps: ConsoleApiDeps) {
  return new Hono<HttpEnv>()
    .use(createAuthMiddleware(deps))
    .route("/session", createSessionRoutes(deps))
    .route("/setup", createSetUpRoutes(deps))
    .route("/oidc", createOidcRoutes(deps))
    .route("/factors", createFactorRoutes(deps))
    .route("/sessions", createSessionListRoutes(deps))
    .route("/administrators", createAdministratorRoutes(deps))
    .route("/invitations", createInvitationRoutes(deps))
    .route("/tokens", createTokenRoutes(deps))
    .route("/live", createLiveRoutes(deps))
    .route("/first-steps", createFirstStepRoutes(deps))
    .route("/history", createHistoryRoutes(deps))
    .route("/audit", createAuditRoutes(deps))
    .route("/settings", createSettingRoutes(deps))
    .route("/charts", createChartRoutes(deps))
    .route("/approvals", createApprovalRoutes(deps))
    .route("/users", createUserRoutes(deps))
    .route("/group-names", createGroupNameRoutes(deps))
    .route("/clients", createClientRoutes(deps))
    .route("/targets", createTargetRoutes(deps))
    .route("/credentials", createCredentialRoutes(deps))
    .route("/health", createHealthRoutes(deps))
    .route("/groups", createGroupRoutes(deps).route("/", createGroupReplyRoutes(deps)))
    .route("/devices", createDeviceRoutes(deps))
    .route("/", createBulkRoutes(deps))
    .route("/", createConnectedRoutes(deps))
    .route("/imports", createImportRoutes(deps))
    .route("/export", createExportRoutes(deps))
    .route("/notices", createNoticeRoutes(deps))
    .route("/outbox", createOutboxRoutes(deps));
}
