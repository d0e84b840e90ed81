/** Checks a registration file against the text of ERC-8004. */
import { z } from 'zod'

/** From "MUST have the following structure". Service names are open there. */
const Service = z.looseObject({
  name: z.string().min(1),
  endpoint: z.string().min(1),
  version: z.string().optional(),
  skills: z.array(z.string()).optional(),
  domains: z.array(z.string()).optional(),
})
const Registration = z.looseObject({
  agentId: z.int().min(0),
  agentRegistry: z.string().regex(/^eip155:[1-9][0-9]*:0x[0-9a-fA-F]{40}$/),
})
const File = z.looseObject({
  type: z.literal('https://eips.ethereum.org/EIPS/eip-8004#registration-v1'),
  name: z.string().min(1),
  description: z.string().min(1),
  image: z.url(),
  services: z.array(Service),
  x402Support: z.boolean(),
  active: z.boolean(),
  registrations: z.array(Registration),
  supportedTrust: z.array(z.enum(['reputation', 'crypto-economic', 'tee-attestation'])).optional(),
})

interface OnChain {
  agentId: number
  agentRegistry: string
}

/** Returns the faults of a file: its form and, if an agent is given, its entry for that agent. */
export function findRegistrationFaults(file: unknown, agent?: OnChain): string[] {
  const parsed = File.safeParse(file)
  if (!parsed.success) return parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
  if (!agent) return []
  const isNamed = parsed.data.registrations.some(
    ({ agentId, agentRegistry }) =>
      agentId === agent.agentId && agentRegistry.toLowerCase() === agent.agentRegistry.toLowerCase(),
  )
  return isNamed ? [] : ['registrations: the agent on chain is missing']
}
