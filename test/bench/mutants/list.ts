/** Seeded bugs: what is replaced in which compiled file. Each must be caught, or the programmes that find nothing prove nothing. */

export interface Mutant {
  name: string
  /** Of the compiled tree. */
  file: string
  /** Occurs exactly once. */
  find: string
  replace: string
  /** What catches it; the simulation unless said. The others see the real log and the real disk, which it can't. */
  by?: 'order' | 'race'
}

const settle = 'agent/payments/settle.js'
const reconcile = 'agent/payments/reconcile.js'
const facilitator = 'agent/payments/facilitator.js'
const perform = 'agent/executor/perform.js'
const recover = 'agent/executor/recover.js'
const replay = 'agent/payments/replay.js'
const offers = 'agent/executor/offers.js'
const responses = 'store/responses.js'

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'the answer leaves before settled is on disk',
    file: settle,
    find: 'return keepSuccess(desk, begun, settlement.transaction);',
    replace:
      'keepSuccess(desk, begun, settlement.transaction).catch(() => undefined);' +
      'return { ...begun, ...settledBy(begun, settlement.transaction) };',
  },
  {
    name: 'settled again before settling is on disk',
    file: settle,
    find: "const settling = await advance(desk, record, { state: 'settling', attempt: record.attempt + 1 });",
    replace:
      "advance(desk, record, { state: 'settling', attempt: record.attempt + 1 }).catch(() => undefined);" +
      "const settling = { ...record, state: 'settling', attempt: record.attempt + 1 };",
  },
  {
    name: 'settled before the answer is on disk',
    file: perform,
    find: 'const { claimed, record } = await claim(',
    replace:
      'seller.desk.facilitator.settle(offered.payment, offered.payment.accepted).catch(() => undefined);' +
      'const { claimed, record } = await claim(',
  },
  {
    name: 'a 502 or a reset is taken for a refusal',
    file: facilitator,
    find: "reply.transaction.toLowerCase() };\n    }\n    catch (cause) {\n        return { kind: 'unclear', cause };",
    replace:
      "reply.transaction.toLowerCase() };\n    }\n    catch (cause) {\n        return { kind: 'refused', reason: 'error' };",
  },
  {
    name: 'every refusal counts, whatever its reason',
    file: facilitator,
    find: 'reason !== undefined && REFUSED_BEFORE_BROADCAST.has(reason)',
    replace: 'reason !== undefined',
  },
  {
    name: 'the fields of a success are not checked',
    file: facilitator,
    find: 'const fits = reply.network',
    replace: 'const fits = true || reply.network',
  },
  {
    name: 'a refusal counts after an earlier attempt',
    file: settle,
    find: 'begun.attempt === 1;',
    replace: 'true;',
  },
  {
    name: 'the fingerprint of a payment is ignored',
    file: replay,
    find: 'record?.payment_hash === request.payment_hash',
    replace: 'true',
  },
  {
    name: 'a payment is replayed for another operation',
    file: replay,
    find: 'record?.operation_digest === request.operation_digest',
    replace: 'true',
  },
  {
    name: 'a used nonce is proof of payment',
    file: reconcile,
    find: 'const isOurs = isSameAddress',
    replace: 'const isOurs = true || isSameAddress',
  },
  {
    name: 'a transfer of another amount is taken',
    file: reconcile,
    find: 'value === BigInt(requirements.amount)',
    replace: 'value > 0n',
  },
  {
    name: 'elapsed time ends what is unknown',
    file: reconcile,
    find: 'if (evidence.finalTime >= validBefore)',
    replace: 'if (BigInt(Math.floor(now.getTime() / 1000)) >= validBefore)',
  },
  {
    name: 'rejected on a block that is not final',
    file: reconcile,
    find: "return evidence.isFinal ? 'spent_for_good' : 'spent';\n        }",
    replace: "return 'spent_for_good';\n        }",
  },
  {
    name: 'confirmed on a block that is not final',
    file: reconcile,
    find: "evidence.isFinal ? 'paid_for_good' : 'paid'",
    replace: "'paid_for_good'",
  },
  {
    name: 'a settlement that the chain has lost is kept',
    file: reconcile,
    find: "case 'forget': {",
    replace:
      "case 'forget': {\n            if (record.attempt > 0) return move(desk, record, { ...record, state: 'confirmed' });",
  },
  {
    name: 'what was prepared is dropped at a restart',
    file: reconcile,
    find: "prepared: { ...UNKNOWN, free: 'wait' }",
    replace: "prepared: { ...UNKNOWN, free: 'expired' }",
  },
  {
    name: 'a retry settles while another process does',
    file: settle,
    find: "const settling = await advance(desk, record, { state: 'settling', attempt: record.attempt + 1 });",
    replace:
      "const settling = (await advance(desk, record, { state: 'settling', attempt: record.attempt + 1 }))" +
      " ?? { ...record, state: 'settling', attempt: record.attempt + 1 };",
  },
  {
    name: 'equal requests do not take turns',
    file: perform,
    find: 'seller.turns.run(offer.identity, () => sell(seller, purchase), outcomeUnknown)',
    replace: 'sell(seller, purchase)',
  },
  {
    name: 'the record is not looked for again after a refused verification',
    file: perform,
    find: 'const stored = await recall(seller, purchase);\n    if (stored)\n        place',
    replace: 'const stored = undefined;\n    if (stored)\n        place',
  },
  {
    name: 'an unknown outcome is a 402',
    file: recover,
    find: "case 'unknown':\n            return outcomeUnknown();",
    replace:
      "case 'unknown':\n            return askForPayment(seller, purchase, 'payment_failed', 'settlement_refused');",
  },
  {
    name: 'a retry is answered from the newest snapshot',
    file: recover,
    find: "case 'repeat':\n",
    replace:
      "case 'repeat': {\n const { prepareAnswer } = await import('../skills/skills.js');" +
      "const { shelfOf } = await import('./seller.js'); const anew = prepareAnswer(purchase.operation, shelfOf(seller));" +
      "return outcomeOf(seller, purchase, anew.kind === 'prepared' ? { ...record, body: anew.body } : record); }\n",
  },
  {
    name: 'the log has the messages of errors',
    file: 'agent/log.js',
    find: '`${each.name} ${code}` : each.name',
    replace: '`${each.name} ${code}` : `${each.name} ${each.message}`',
  },
  {
    name: 'what was bought may be cached',
    file: 'agent/executor/reply.js',
    find: "'private, no-store'",
    replace: "'public, max-age=60'",
  },
  {
    name: "a payer's own id is not kept with the answer",
    file: 'agent/executor/record.js',
    find: 'offered.id !== undefined &&',
    replace: 'false &&',
  },
  {
    name: 'answers are kept for half as long as published',
    file: 'agent/payments/retention.js',
    find: 'days * DAY_MS)',
    replace: '(days * DAY_MS) / 2)',
  },
  {
    name: 'a stop does not wait for the sales under way',
    file: 'agent/executor/agent-executor.js',
    find: 'while (this.#running.size > 0)',
    replace: 'while (false)',
  },
  {
    name: 'a stop does not wait for the reconciler',
    file: 'agent/payments/reconciler.js',
    find: 'await underWay;',
    replace: '',
  },
  {
    name: 'the response log is not synced',
    file: 'store/open.js',
    find: 'noSync: !isDurable',
    replace: 'noSync: true',
    by: 'order',
  },
  {
    name: 'a place is given if one of its conditions holds',
    file: responses,
    find: '.every(Boolean)',
    replace: '.some(Boolean)',
    by: 'race',
  },
  {
    name: 'a payment id is given without a look at who holds it',
    file: responses,
    find: 'ifFree(paymentIds, payment_id, ifNew);',
    replace: 'ifNew();',
    by: 'race',
  },
  {
    name: 'a payment that has come to nothing keeps its payment id',
    file: responses,
    find: 'hasComeToNothing(next.state)',
    replace: 'false',
    by: 'race',
  },
  {
    name: 'a step is taken whatever was written since it was read',
    file: responses,
    find: 'bytes, revision + 1, revision)',
    replace: 'bytes, revision + 1)',
    by: 'race',
  },
  {
    name: 'what ends stays among the unfinished',
    file: responses,
    find: 'void unfinished.remove(identity);\n        });',
    replace: '});',
    by: 'race',
  },
  {
    name: 'a payment is known by its header, whatever operation it comes with',
    file: offers,
    find: 'known?.operation === JSON.stringify(operation)',
    replace: 'known',
  },
]
