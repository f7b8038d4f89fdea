// Opens the alerts of a gateway.

import { hostName } from "../process.ts";
import { AlertService, type AlertServiceDeps } from "./alerts.ts";

export async function openAlerts(host: Omit<AlertServiceDeps, "nodeName">): Promise<AlertService> {
  const alerts = new AlertService({ ...host, nodeName: hostName() });
  await alerts.start();
  return alerts;
}
