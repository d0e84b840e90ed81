/** The forms in which a buyer can hold an answer and a receipt, and files that are none of them. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { runCommand } from '../../support/cli.ts'
import { ANSWERS, claimsFor, keySetOf, makeReceiptKey, receiptFor, type TestKey } from '../../support/signed-receipt.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

const FILE_BYTES_MAX = 6 * 1024 * 1024
const answer = ANSWERS['search'] ?? expect.fail('no answer')
const answerJson = JSON.stringify(answer)

describe('[5.9.6] the files of verify', () => {
  let directory: string
  let jwks: string
  let key: TestKey
  let receipt: string
  let settlement: object

  before(async () => {
    directory = await makeTemporaryDirectory()
    key = await makeReceiptKey()
    receipt = receiptFor(key, answer)
    jwks = await save('jwks', JSON.stringify(keySetOf(key)))
    const { transaction, network, payer, amount } = claimsFor(answer).payment
    const extensions = { 'payment-receipt': { info: { receipt } } }
    settlement = { success: true, transaction, network, payer, amount, extensions }
  })

  async function save(name: string, content: string | Uint8Array): Promise<string> {
    const path = join(directory, name)
    await writeFile(path, content)
    return path
  }
  const verify = (...args: string[]) => runCommand(['verify', ...args, '--jwks', jwks], { fetch: () => expect.fail() })
  async function expectValid(form: string, ...args: string[]) {
    const { code, text, stderr } = await verify(...args)
    expect(code, `${form}: ${text}${stderr}`).to.equal(0)
  }
  async function expectOneLine(line: string, ...args: string[]) {
    const { code, text, stderr } = await verify(...args)
    expect([code, text, stderr]).to.deep.equal([1, '', `${line}\n`])
  }

  const header = () => Buffer.from(JSON.stringify(settlement)).toString('base64')
  const metaOf = (response: object) => ({ 'x402/payment-response': response })
  const rpc = (result: unknown) => ({ jsonrpc: '2.0', id: 1, result })
  const message = { messageId: 'a', role: 'ROLE_AGENT', parts: [{ data: answer, mediaType: 'application/json' }] }
  const parts = [{ type: 'text', text: answerJson }]
  const toolResult = () => ({ content: parts, structuredContent: answer, _meta: metaOf(settlement) })

  it('can be each form of a receipt', async () => {
    const body = await save('answer', answerJson)
    const forms: Record<string, string> = {
      jwt: `${receipt}\n`,
      header: `${header()}\r\n`,
    }
    for (const [form, text] of Object.entries(forms))
      await expectValid(form, body, '--receipt', await save('receipt', text))
  })

  it('can be each form of an answer', async () => {
    const path = await save('receipt', header())
    const forms: Record<string, unknown> = {
      'rest body': answer,
      'a2a body': rpc({ message }),
      'tool result without a receipt': { ...toolResult(), _meta: undefined },
    }
    for (const [form, value] of Object.entries(forms))
      await expectValid(form, await save('answer', JSON.stringify(value)), '--receipt', path)
  })

  it('need no receipt file for a message of A2A or the result of a tool', async () => {
    const metadata = { 'https://companies.example/docs#http-x402-v1': settlement }
    await expectValid('a2a body', await save('message', JSON.stringify(rpc({ message: { ...message, metadata } }))))
    for (const members of [{}, { isError: false }, { resultType: 'complete' }]) {
      const text = JSON.stringify({ ...toolResult(), ...members })
      await expectValid(text, await save('result', text))
    }
    const other = { ...toolResult(), _meta: metaOf({ ...settlement, amount: '1' }) }
    const { code, lines } = await verify(await save('result', JSON.stringify(other)))
    const [failed, ...more] = lines.filter((line) => line.includes('FAILED'))
    expect([code, failed, more]).to.deep.equal([1, `response  FAILED  transaction 0x${'ab'.repeat(32)}`, []])
  })

  it('cannot be pipes, which would block, or devices', async () => {
    const pipe = join(directory, 'pipe')
    await promisify(execFile)('mkfifo', [pipe])
    for (const path of [pipe, '/dev/zero', directory]) await expectOneLine(`${path} is not a regular file`, path)
  })

  it('do not verify with other data around the answer', async () => {
    const path = await save('receipt', header())
    const forged: unknown[] = [
      rpc({ message: { ...message, metadata: { company: 'forged' } } }),
      rpc({ message: { ...message, company: 'forged' } }),
      rpc({ message, company: 'forged' }),
      rpc({ message: { ...message, parts: [...message.parts, { text: 'forged' }] } }),
      { ...toolResult(), company: 'forged' },
      { ...toolResult(), isError: true },
      { task: { id: 'a', status: { message } } },
      rpc(toolResult()),
    ]
    for (const value of forged) {
      const { code, text } = await verify(await save('answer', JSON.stringify(value)), '--receipt', path)
      expect([code, text.includes('answer    FAILED')], JSON.stringify(value)).to.deep.equal([1, true])
    }
  })

  it('fail with one line if they are no answer', async () => {
    const path = join(directory, 'answer')
    const none = 'is neither a purchase nor an answer with its receipt: add --receipt'
    const differs = 'its text differs from its structuredContent'
    const cases: [content: string | Uint8Array, line: string][] = [
      ['', 'is not JSON'],
      ['garbage', 'is not JSON'],
      [header(), 'is not JSON'],
      ['[]', 'is not an answer: it is not a JSON object'],
      ['{"a":1,"a":1}', 'repeats a member name'],
      ['{}', none],
      [answerJson, none],
      [JSON.stringify(message), none],
      [JSON.stringify({ ...toolResult(), _meta: metaOf({ ...settlement, success: false }) }), none],
      [JSON.stringify({ ...toolResult(), structuredContent: {} }), `is not an answer: ${differs}`],
      [`\uFEFF${answerJson}`, 'begins with a byte order mark: save it as UTF-8 without one'],
      [Buffer.from(`\uFEFF${answerJson}`, 'utf16le'), 'is not UTF-8 text'],
      [Buffer.alloc(FILE_BYTES_MAX + 1, 'a'), `is larger than ${FILE_BYTES_MAX} bytes`],
      [Buffer.alloc(FILE_BYTES_MAX, 'a'), 'is not JSON'],
      [`${answerJson}${' '.repeat(FILE_BYTES_MAX - Buffer.byteLength(answerJson))}`, none],
    ]
    for (const [content, line] of cases) await expectOneLine(`${path} ${line}`, await save('answer', content))
    await expectOneLine(`${path}/a cannot be used (ENOTDIR)`, join(path, 'a'))
    await expectOneLine(`${path}-none does not exist`, `${path}-none`)
  })

  it('fail with one line if they have no receipt', async () => {
    const body = await save('answer', answerJson)
    const path = join(directory, 'receipt')
    const none = 'has no receipt: it is neither the value of a PAYMENT-RESPONSE header with one, nor a JWT'
    const { extensions: _, ...withoutReceipt } = settlement as { extensions: object }
    const values = [message, withoutReceipt, { ...settlement, success: false }, { ...settlement, payer: 7 }]
    const contents = ['', 'garbage', '[]', '{}', answerJson, ...values.map((value) => JSON.stringify(value))]
    contents.push(
      JSON.stringify(settlement),
      Buffer.from(JSON.stringify(settlement).replace('{', '{"success":true,')).toString('base64'),
      Buffer.from(JSON.stringify(withoutReceipt)).toString('base64'),
      `${header()} ${header()}`,
      `payment-response: ${header()}`,
    )
    for (const content of contents)
      await expectOneLine(`${path} ${none}`, body, '--receipt', await save('receipt', content))
  })
})
