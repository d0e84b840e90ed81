/** Measures the checks of the table that the command `check` shows, and those of this machine before a start. */
import { existsSync } from 'node:fs'
import { catalogFolder, responsesFolder } from '../../store/files/layout.ts'
import { Catalog } from '../../store/dataset/catalog.ts'
import { Journal } from '../../store/history/journal.ts'
import { openChain } from '../../agent/settlement/chain/chain.ts'
import { openInProcessFacilitator } from '../../agent/settlement/facilitator/in-process-facilitator.ts'
import { NODE_MS_MAX } from '../../agent/settlement/rpc/time-limits.ts'
import { DEPLOYMENTS } from '../../agent/payment/terms.ts'
import { measure } from '../../agent/service/checks/runner.ts'
import { labelOf, limited, passed, type Finding, type Subject } from '../../agent/service/checks/subject.ts'
import { checksWith, type Check, type CheckName } from '../../agent/service/checks/table.ts'
import type { Config } from '../../agent/service/config.ts'
import { readRelayerKey } from '../../agent/service/externals.ts'
import { openConfiguredLog } from '../../agent/service/response-log.ts'
import type { CliContext } from '../../agent/command-line/context.ts'
import { checkBaseUrl, checkCard, checkDocuments } from './public-url.ts'

type Context = Pick<CliContext, 'now' | 'fetch'>

/** In the order of the table. */
export async function* runChecks(
  context: Context,
  config: Config,
  names: readonly CheckName[] = checksWith('shown'),
): AsyncGenerator<Finding & { check: string }> {
  await using opened = openSubject(context, config)
  const { subject } = opened
  const own: Partial<Record<CheckName, Check['measure']>> = {
    variables: async () => passed(`the configuration of ${config.mode} is valid`),
    'base URL': checkBaseUrl,
    documents: checkDocuments,
    'agent card': checkCard,
  }
  for (const name of names)
    for (const finding of await measure(name, subject, own[name])) yield { check: labelOf(name, finding), ...finding }
}

/** Opens what is stored when a check needs it, and creates nothing. */
function openSubject({ now, fetch }: Context, config: Config) {
  const { dataDirectory, facilitator, rpcUrls, mode, responseLog } = config
  const { chainId } = DEPLOYMENTS[mode]
  const opened: { close: () => Promise<void> }[] = []
  const keep = <Resource extends { close: () => Promise<void> }>(resource: Resource): Resource => {
    opened.push(resource)
    return resource
  }
  const openLog = async () => {
    const isMissing = responseLog === undefined && !existsSync(responsesFolder(dataDirectory))
    return isMissing ? undefined : keep(await openConfiguredLog(config, { readOnly: true }))
  }
  const openCatalog = () => (existsSync(catalogFolder(dataDirectory)) ? keep(new Catalog(dataDirectory)) : undefined)
  const subject: Subject = {
    config,
    now,
    random: Math.random,
    fetch: limited(fetch),
    payTo: facilitator.kind === 'sandbox' ? undefined : facilitator.payTo,
    log: once(openLog),
    catalog: once(openCatalog),
    journal: once(() => keep(new Journal(dataDirectory))),
    chain: facilitator.kind === 'sandbox' ? undefined : openChain({ urls: rpcUrls, chainId, now }),
    settlementsLeft: facilitator.kind === 'self' ? () => countSettlements(config, facilitator) : undefined,
  }
  return { subject, [Symbol.asyncDispose]: async () => void (await Promise.all(opened.map((each) => each.close()))) }
}

function once<Value>(open: () => Value): () => Value {
  let value: { opened: Value } | undefined
  return () => (value ??= { opened: open() }).opened
}

function countSettlements(
  { mode }: Config,
  { relayerKeyFile, rpcUrls }: Extract<Config['facilitator'], { kind: 'self' }>,
) {
  const relayerKey = readRelayerKey(relayerKeyFile)
  const shared = { deployment: DEPLOYMENTS[mode], rpcUrls, relayerKey, report: () => undefined }
  return openInProcessFacilitator({ ...shared, pollingMs: NODE_MS_MAX }).settlementsLeft()
}
