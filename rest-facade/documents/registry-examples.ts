/** Example bodies of the ERC-8004 registry routes: of a registered agent, and of a service without one. */
import { TESTNET_PATHS } from '../../agent/operation/paths.ts'
import type { DocumentedDeployment } from './deployment.ts'
import type { FeedbackPage, RegistryIdentity } from '../../agent/registry/registry.ts'
import {
  buildIdentityBody,
  buildRegistrationFile,
  buildReputationBody,
  type PublishedAgent,
} from './registry-bodies.ts'
import { FEEDBACK_ENTRIES_MAX } from './registry-schemas.ts'

/** Accounts of the well-known test mnemonic. */
const OWNER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
export const EXAMPLE_REVIEWER = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'

const checked = {
  block: { number: 397, hash: `0x${'5e'.repeat(32)}`, timestamp: '2026-01-01T00:00:00.000Z' },
  checked_at: '2026-01-01T00:00:03.000Z',
} as const

const PAGE: FeedbackPage = {
  checked,
  lastIndex: 1,
  feedback: [
    { index: 1, value: '95', value_decimals: 0, tag1: 'starred', tag2: 'lookup', tags_altered: false, revoked: false },
  ],
}

type BuildBody = (agent: PublishedAgent, identity: RegistryIdentity) => object

const examplesBy =
  (build: BuildBody) =>
  ({ baseUrl, a2aEnabled }: DocumentedDeployment) => {
    const agent = { baseUrl, a2aEnabled, payTo: OWNER }
    const uri = `${baseUrl}${TESTNET_PATHS.registrationFile}`
    const onChain = { owner: OWNER, wallet: OWNER, uri, isUriExpected: true } as const
    return {
      registered: build({ ...agent, agentId: 1n }, { status: 'registered', agent: onChain, checked }),
      not_registered: build({ ...agent, agentId: undefined }, { status: 'not_registered' }),
    }
  }

/** Functions from the deployment to the examples by name. */
export const REGISTRY_EXAMPLES = {
  RegistrationFile: examplesBy(buildRegistrationFile),
  RegistryIdentity: examplesBy(buildIdentityBody),
  ReputationPage: examplesBy((agent, identity) => {
    const query = { client: EXAMPLE_REVIEWER, start: 1, limit: FEEDBACK_ENTRIES_MAX } as const
    return buildReputationBody(agent, identity, query, identity.status === 'registered' ? PAGE : undefined)
  }),
}
