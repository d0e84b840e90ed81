/** Checks of the running service through its public URL. Nothing is bought. */
import * as z from 'zod'
import { isLoopback } from '../../base/url-policy.ts'
import { fetchDocument, fetchText, type Fetch } from '../../base/bounded-fetch.ts'
import { verifyCard } from '../../buyer/library/verify-card.ts'
import { FREE_PATHS } from '../../agent/operation/endpoints.ts'
import { DEPLOYMENTS } from '../../agent/payment/terms.ts'
import { isSameAddress } from '../../agent/payment/accounts.ts'
import { failed, passed, warning, type Finding, type Subject } from '../../agent/service/checks/subject.ts'

const publishedTermsSchema = z.object({ access: z.object({ network: z.string(), pay_to: z.string() }) })

type Public = Pick<Subject, 'config' | 'fetch'>

export async function checkBaseUrl({ config: { baseUrl, mode, payTo }, fetch }: Public): Promise<Finding[]> {
  if (baseUrl === undefined) return warning('BASE_URL is not set: clients of other machines cannot buy')
  const { protocol, hostname } = new URL(baseUrl)
  const metadata = await fetchDocument(fetch, `${baseUrl}${FREE_PATHS.metadata}`, publishedTermsSchema).catch(
    () => undefined,
  )
  if (!metadata)
    return warning(
      `${baseUrl} is not reached as this service: start it, and check its name, its certificate and the proxy`,
    )
  const { network, pay_to } = metadata.access
  const isSame = network === DEPLOYMENTS[mode].network && (payTo === undefined || isSameAddress(payTo, pay_to))
  if (!isSame)
    return failed(`${baseUrl} is a service of ${network} that pays ${pay_to}: correct BASE_URL, or restart it`)
  if (protocol === 'http:' && !isLoopback(hostname))
    return warning(`${baseUrl} is not encrypted: anyone on the way can change the receiver. Use https`)
  return passed(`${baseUrl} answers as this service`)
}

export async function checkDocuments({ config: { baseUrl, a2aEnabled }, fetch }: Public): Promise<Finding[]> {
  if (baseUrl === undefined) return []
  const { agentCard, a2aGuide, ...others } = FREE_PATHS
  const paths = [...Object.values(others), ...(a2aEnabled ? [agentCard, a2aGuide] : [])]
  const faults = await Promise.all(paths.map((path) => documentFault(baseUrl, path, fetch)))
  const found = faults.filter((fault) => fault !== undefined)
  if (found.length === paths.length) return warning('no document is reached: see base URL')
  return found.length === 0 ? passed(`${paths.length} documents`) : found.flatMap(failed)
}

async function documentFault(baseUrl: string, path: string, fetch: Fetch): Promise<string | undefined> {
  const reply = await fetchText(fetch, `${baseUrl}${path}`).catch(() => undefined)
  if (reply?.response.status === 200) return undefined
  const fault = reply ? `answers with status ${reply.response.status}` : 'does not answer'
  return `${path} ${fault}: let the proxy pass every path`
}

/** The key set that the signature names is that of BASE_URL, so a card of another URL is invalid. */
export async function checkCard({ config: { baseUrl, a2aEnabled }, fetch }: Public): Promise<Finding[]> {
  if (baseUrl === undefined || !a2aEnabled) return []
  const check = await verifyCard(baseUrl, fetch).catch(() => undefined)
  if (check?.kind === 'signed') return passed(`is signed by ${check.kid}`)
  if ((await documentFault(baseUrl, FREE_PATHS.agentCard, fetch)) !== undefined)
    return warning('cannot be read: see base URL')
  return failed(
    'has no signature that is valid for BASE_URL: let the proxy change no document, and restart the service',
  )
}
