// Prints what llama.cpp's own reader of arguments made of a server's: see engine_parsers.py. Linked
// with common/{arg,common,speculative,log}.cpp alone; what those call of the engine stands below,
// all else is left open and never called.

#include "arg.h"
#include "common.h"
#include "ggml-backend.h"
#include "ggml.h"
#include "llama.h"
#include "sampling.h"
#include "speculative.h"

#include <cstdio>
#include <exception>
#include <string>

extern "C" {
size_t llama_max_devices(void) { return 16; }
size_t llama_max_tensor_buft_overrides(void) { return 16; }
bool llama_supports_gpu_offload(void) { return true; }
bool llama_supports_rpc(void) { return false; }
bool llama_supports_mmap(void) { return true; }
bool llama_supports_mlock(void) { return true; }
const char * ggml_type_name(ggml_type) { return "type"; }
const char * llama_flash_attn_type_name(llama_flash_attn_type) { return "auto"; }
size_t ggml_backend_dev_count(void) { return 0; }
void ggml_backend_load_all(void) {}
int32_t llama_chat_builtin_templates(const char **, size_t) { return 0; }
}

char common_sampler_type_to_chr(enum common_sampler_type) { return 'x'; }
std::string common_sampler_type_to_str(enum common_sampler_type) { return "x"; }

int main(int argc, char ** argv) {
    common_params params;
    try {
        if (!common_params_parse(argc, argv, params, LLAMA_EXAMPLE_SERVER)) {
            fprintf(stderr, "error: refused\n");
            return 1;
        }
        const auto & spec = params.speculative;
        const int k = common_speculative_n_max(&spec);
        std::string type, rates;
        for (const auto kind : spec.types) {
            const auto name = common_speculative_type_name_str({kind});
            if (name != "none") {
                type += (type.empty() ? "" : ",") + name;
            }
        }
        for (const double rate : common_speculative_synth_rates_resolve(&spec, k)) {
            char text[32];
            snprintf(text, sizeof(text), "%s%g", rates.empty() ? "" : ",", rate);
            rates += text;
        }
        printf("slots=%d context=%d type=%s k=%d drafter=%s rates=%s\n", params.n_parallel, params.n_ctx,
               type.c_str(), k, spec.draft.mparams.path.c_str(), rates.c_str());
    } catch (const std::exception & error) {
        fprintf(stderr, "error: %s\n", error.what());
        return 1;
    }
    return 0;
}
