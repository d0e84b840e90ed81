/** Checks that a remote facilitator accepts the credentials and settles on the network of the configuration. */
import * as z from 'zod'
import { fetchText } from '../../../base/bounded-fetch.ts'
import { parseJson } from '../../../base/read-body.ts'
import { DEPLOYMENTS, X402_VERSION } from '../../payment/terms.ts'
import type { Config } from '../config.ts'
import { failed, numbered, passed, type Finding, type Subject } from './subject.ts'

const supportedSchema = z.object({
  kinds: z.array(z.looseObject({ x402Version: z.unknown(), scheme: z.string(), network: z.string() })),
})

/** One that fails is a warning if another one works, because `verify` asks that one. */
export async function checkFacilitators({ config: { facilitator, mode }, fetch }: Subject): Promise<Finding[]> {
  if (facilitator.kind !== 'remote') return []
  const { network } = DEPLOYMENTS[mode]
  const each = await Promise.all(facilitator.facilitators.map((one) => checkFacilitator(one, network, fetch)))
  const findings = numbered(each)
  if (findings.some(({ kind }) => kind === 'passed'))
    for (const finding of findings) if (finding.kind === 'failed') finding.kind = 'warning'
  return findings
}

type Remote = Extract<Config['facilitator'], { kind: 'remote' }>['facilitators'][number]

async function checkFacilitator(
  { url, authorization }: Remote,
  network: string,
  fetch: Subject['fetch'],
): Promise<Finding[]> {
  const header = await authorization('GET', `${url}/supported`)
  const headers = { Accept: 'application/json', ...(header !== undefined && { Authorization: header }) }
  const reply = await fetchText(fetch, `${url}/supported`, { headers }).catch(() => undefined)
  if (!reply) return failed(`${url} does not answer: check FACILITATOR, or name another one`)
  const { status } = reply.response
  if (status === 401 || status === 403) return failed(`${url} refuses the credentials (${status}): correct them`)
  const supported = status === 200 ? supportedSchema.safeParse(parseJson(reply.text)).data : undefined
  if (!supported) return failed(`${url} does not list what it supports (status ${status}): check FACILITATOR`)
  const isSupported = supported.kinds.some(
    (kind) =>
      kind.x402Version === X402_VERSION && kind.scheme === 'exact' && [network, 'eip155:*'].includes(kind.network),
  )
  if (isSupported) return passed(`${url} settles "exact" on ${network}`)
  return failed(`${url} does not settle x402 version ${X402_VERSION} "exact" on ${network}: name another one`)
}
