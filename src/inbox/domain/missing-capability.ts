import { capabilitiesOf, type AgentPermissions, type AgentRole, type Capability } from '../../access/domain/capabilities.js';

/**
 * Does a refusal for want of this capability need a person? Not where the agent has it by now and only its run is older; nor where
 * somebody has denied it by name and, asked whether that was meant, has left it so.
 */
export function asksForIt(
  { role, permissions }: { readonly role: AgentRole; readonly permissions: AgentPermissions },
  capability: Capability,
  leftSoBefore: boolean,
): boolean {
  if (capabilitiesOf(role, permissions).includes(capability)) return false;
  return !(leftSoBefore && permissions.deny?.includes(capability) === true);
}
