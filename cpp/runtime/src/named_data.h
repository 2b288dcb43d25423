// Data by name: what the program holds, and what .ptd files hold.
#ifndef ONEARENA_RUNTIME_NAMED_DATA_H_
#define ONEARENA_RUNTIME_NAMED_DATA_H_

#include <executorch/runtime/core/data_loader.h>
#include <executorch/runtime/core/named_data_map.h>

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "description.h"

namespace onearena::runtime {

class NamedData final : public ::executorch::runtime::NamedDataMap {
 public:
  // `file` outlives this object. Throws `Error` (kFormat) when a data file cannot be read.
  NamedData(const std::vector<NamedDataEntry>& entries, std::string_view file,
            const std::vector<std::string>& data_files);

  ::executorch::runtime::Result<const ::executorch::runtime::TensorLayout> get_tensor_layout(
      std::string_view key) const override;
  ::executorch::runtime::Result<::executorch::runtime::FreeableBuffer> get_data(
      std::string_view key) const override;
  ::executorch::runtime::Error load_data_into(std::string_view key, void* buffer,
                                              size_t size) const override;
  ::executorch::runtime::Result<uint32_t> get_num_keys() const override;
  ::executorch::runtime::Result<const char*> get_key(uint32_t index) const override;

 private:
  struct DataFile {
    std::unique_ptr<::executorch::runtime::DataLoader> loader;
    std::unique_ptr<::executorch::runtime::NamedDataMap> map;
  };

  std::unordered_map<std::string_view, std::string_view> own_;  // keys live in `keys_`
  std::vector<std::string> keys_;
  std::vector<DataFile> files_;
};

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_NAMED_DATA_H_
